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

test("own headers are added, kept, replaced, renamed and removed, and no value is on the page once it is saved", async () => {
  const { id } = await webhook();
  const page = await environment.signIn(`/webhooks/${id}/settings`);
  const name = (number: number) => page.getByLabel(`Name of header ${number}`);
  const value = (number: number) => page.getByLabel(`Value of header ${number}`);
  const save = () => page.getByRole("button", { name: "Save webhook" }).click();
  const add = () => page.getByRole("button", { name: "Add a header" }).click();
  const receives = async () => {
    await environment.api.deliver(id, "WorkItemCompleted", "{}");
    const { authorization, "x-key": key, "x-other": other } = environment.receiver.requests.at(-1)?.headers ?? {};
    return { authorization, key, other };
  };
  await add();
  await name(1).fill("Host");
  await value(1).fill("MARK-1");
  await save();
  await page.getByText("Host: This header can't be an endpoint's own: HTTP itself uses it").waitFor();
  await name(1).fill("Authorization");
  await add();
  await name(2).fill("Authorization");
  await page.getByText("Authorization: two headers have this name.").waitFor();
  await name(2).fill("X-Key");
  await value(2).fill("MARK-2");
  await save();
  await page.getByText("Sent with its own headers: Authorization, X-Key").waitFor();
  expect(await receives()).toEqual({ authorization: "MARK-1", key: "MARK-2" });

  await page.reload();
  expect(await value(1).getAttribute("placeholder")).toBe("•••••••• (kept)");
  expect([await value(1).inputValue(), await value(2).inputValue()]).toEqual(["", ""]);
  await value(1).fill("MARK-3");
  await name(2).fill("X-Other");
  await save();
  await page.getByText("X-Other: This header has no value").waitFor();
  await value(2).fill("MARK-4");
  await save();
  await page.getByText("Sent with its own headers: Authorization, X-Other").waitFor();
  expect(await receives()).toEqual({ authorization: "MARK-3", other: "MARK-4" });
  await page.getByRole("button", { name: "Remove header 1" }).click();
  await save();
  await page.getByText("Sent with its own headers: X-Other").waitFor();
  expect(await receives()).toEqual({ other: "MARK-4" });

  await page.getByRole("link", { name: "Changes" }).click();
  await page.getByText("New: Authorization, X-Other").waitFor();
  expect(await page.content()).not.toContain("MARK");
});
