import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { OWN_CATALOGUE, ownCatalogueFile } from "@herald/e2e/herald/own-catalogue";
import { afterAll, expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const EVENT_TYPES_FILE = ownCatalogueFile();
const environment = useTestEnvironment({ settings: { EVENT_TYPES_FILE } });
afterAll(() => rmSync(dirname(EVENT_TYPES_FILE), { recursive: true }));

test("an event of one's own catalogue is chosen, explained and delivered by hand with its sample", async () => {
  const page = await environment.signIn("/webhooks/new");
  for (const type of Object.keys(OWN_CATALOGUE)) await page.getByRole("checkbox", { name: type }).waitFor();
  await page.getByText("An invoice is paid in full.").waitFor();
  await page.getByText("Partial payments don't count.").waitFor();
  await page.getByLabel("Name").fill("Billing");
  await page.getByLabel("Endpoint URL").fill(environment.receiver.url);
  await page.getByRole("checkbox", { name: "invoice.paid" }).check();
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByRole("dialog", { name: "Signing secret of Billing" }).waitFor();

  const [webhook] = await environment.api.list();
  expect(webhook?.events).toEqual(["invoice.paid"]);
  const delivering = await environment.signIn(`/webhooks/${webhook?.id}/manual`);
  expect(await delivering.getByLabel("JSON to send").inputValue()).toContain('"total": "119.00"');
});
