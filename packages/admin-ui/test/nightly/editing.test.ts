import { EVENT_TYPES } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

async function webhook(name = "Billing mirror") {
  const { endpoint } = await environment.api.create({
    name,
    url: `${environment.receiver.url}/hooks`,
    events: ["WorkItemCompleted"],
  });
  return endpoint;
}

test("§4.1.1 of two windows that edit the same webhook, the later one keeps what was typed and learns what changed", async () => {
  const { id } = await webhook();
  const page = await environment.signIn(`/webhooks/${id}/settings`);
  await page.getByLabel("Name").fill("Mine");
  await page.getByRole("checkbox", { name: "RiskCreated" }).check();

  const other = await environment.signIn(`/webhooks/${id}/settings`);
  await other.getByLabel("Name").fill("Theirs");
  await other.getByLabel("Endpoint URL").fill(`${environment.receiver.url}/elsewhere`);
  await other.getByRole("button", { name: "Save webhook" }).click();
  await other.getByRole("heading", { name: "Theirs", level: 1 }).waitFor();

  await page.getByRole("button", { name: "Save webhook" }).click();

  const notice = page.getByRole("alert");
  await notice.getByText("was changed while you edited it").waitFor();
  await notice.getByText(/was Billing mirror, is now Theirs/).waitFor();
  await notice.getByText(/was .*\/hooks, is now .*\/elsewhere\. The form shows what it is now/).waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("Mine");
  expect(await page.getByLabel("Endpoint URL").inputValue()).toBe(`${environment.receiver.url}/elsewhere`);
  expect(await page.getByRole("checkbox", { name: "RiskCreated" }).isChecked()).toBe(true);
  expect(await environment.api.get(id)).toMatchObject({ name: "Theirs", events: ["WorkItemCompleted"] });

  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByRole("heading", { name: "Mine", level: 1 }).waitFor();
  expect(await environment.api.get(id)).toMatchObject({
    name: "Mine",
    url: `${environment.receiver.url}/elsewhere`,
    events: ["WorkItemCompleted", "RiskCreated"],
  });
});

test("the API's own words are shown beside a field while it is typed in, and the field is marked", async () => {
  const page = await environment.signIn("/webhooks/new");
  const url = page.getByLabel("Endpoint URL");
  await url.fill("http://receiver.example");
  await page.getByText("https").first().waitFor();
  await page.locator("[name=url][aria-invalid]").waitFor();
  await url.fill("https://user:password@receiver.example");
  const described = await url.evaluate(async (field) => {
    const deadline = Date.now() + 5_000;
    for (;;) {
      const text = (field.getAttribute("aria-describedby") ?? "")
        .split(" ")
        .map((id) => document.getElementById(id)?.textContent)
        .join(" ");
      if (/credentials|password|user/i.test(text) || Date.now() > deadline) return text;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  expect(described).toMatch(/credentials|user name/i);
  await url.fill("https://receiver.example");
  await page.locator("[name=url]:not([aria-invalid])").waitFor();
});

test("§7/400 a refused save names every field and goes to the first", async () => {
  const page = await environment.signIn("/webhooks/new");
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByText("3 things need correcting").waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("name");
});

test("§6/project-updated the events come with what they mean, and ProjectUpdated with its remark", async () => {
  const page = await environment.signIn("/webhooks/new");
  const events = page.getByRole("group", { name: "Event selection" });
  await events.getByText("A work item's status changes to Done.").waitFor();
  expect(await events.getByRole("checkbox").count()).toBe(EVENT_TYPES.length);
  await events.getByText("normal project edits emit other internal events").waitFor();
});

test("§2.3/shown replacing the secret says beforehand that there is no grace period, and shows the new one once", async () => {
  const { id } = await webhook();
  const page = await environment.signIn(`/webhooks/${id}/settings`);
  await page.getByRole("switch", { name: "Replace signing secret" }).click();
  await page.getByText("There is no grace period.").waitFor();
  await page.getByRole("button", { name: "Save webhook" }).click();
  const dialog = page.getByRole("dialog", { name: "Signing secret of Billing mirror" });
  await dialog.getByText("The old secret is worth nothing from now on").waitFor();
  const secret = await dialog.getByTestId("signing-secret").textContent();
  expect(secret).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await page.reload();
  await page.getByLabel("Name").waitFor();
  expect(await page.content()).not.toContain(secret);
});

test("§4.1.5 deleting takes the webhook's name and says that the history goes", async () => {
  const { id } = await webhook();
  const page = await environment.signIn(`/webhooks/${id}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete webhook…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Billing mirror?" });
  await dialog.getByText("Its delivery history goes too").waitFor();
  const button = dialog.getByRole("button", { name: "Delete webhook" });
  await dialog.getByLabel("Type “Billing mirror” to confirm").fill("Billing");
  expect(await button.getAttribute("aria-disabled")).toBe("true");
  await page.keyboard.press("Enter");
  expect(await environment.api.list()).toHaveLength(1);
  await dialog.getByLabel("Type “Billing mirror” to confirm").fill("Billing mirror");
  await button.click();
  await page.getByText("No webhooks yet").waitFor();
  expect(await environment.api.list()).toHaveLength(0);
});
