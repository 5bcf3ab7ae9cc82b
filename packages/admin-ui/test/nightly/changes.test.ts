import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

test("the changes of a webhook say what was done, by whom, and what was before", async () => {
  const { endpoint } = await environment.api.create({ url: environment.receiver.url, name: "Billing" });
  await environment.api.edit(endpoint.id, { name: "Payroll", enabled: false });
  const page = await environment.signIn(`/webhooks/${endpoint.id}`);
  await page.getByRole("link", { name: "Changes" }).click();
  const changes = page.getByRole("list", { name: "Changes, newest first" }).getByRole("listitem");
  await changes.first().getByText("Paused").waitFor();
  expect(await changes.count()).toBe(2);
  const words = await changes.first().textContent();
  expect(words).toContain("Billing");
  expect(words).toContain("Payroll");
  await changes.nth(1).getByText("Created").waitFor();
});
