import { createHmac } from "node:crypto";
import { EVENT_TYPES } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import type { ReceivedRequest } from "@herald/dev/harness/https-receiver";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

async function webhook(settings: { name?: string; headers?: Record<string, string> } = {}) {
  const { endpoint } = await environment.api.create({
    name: "Billing mirror",
    ...settings,
    url: `${environment.receiver.url}/hooks`,
    events: ["WorkItemCompleted"],
  });
  return endpoint;
}

const signatureOf = (request: ReceivedRequest | undefined) => request?.headers["x-service-signature"];

function signatureBy(secret: string, request: ReceivedRequest | undefined): string {
  const message = `${request?.headers["x-service-timestamp"]}.${request?.body.toString()}`;
  return `sha256=${createHmac("sha256", secret).update(message).digest("hex")}`;
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
  const described = () =>
    url.evaluate((field) => {
      const ids = (field.getAttribute("aria-describedby") ?? "").split(" ");
      return ids.map((id) => document.getElementById(id)?.textContent).join(" ");
    });
  await eventually(async () => expect(await described()).toMatch(/credentials|user name/i));
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

test("§2.3/shown a replacement pauses the webhook, shows the new secret once, says what waits, and resumes", async () => {
  const { id } = await webhook();
  const page = await environment.signIn(`/webhooks/${id}/settings`);
  await page.getByRole("button", { name: "Replace signing secret" }).click();
  await page.getByText("There is no grace period for the old secret.").waitFor();
  await page.getByRole("button", { name: "Pause and replace" }).click();
  const dialog = page.getByRole("dialog", { name: "Signing secret of Billing mirror" });
  await dialog.getByText("The old secret is worth nothing from now on").waitFor();
  const secret = (await dialog.getByTestId("signing-secret").textContent()) ?? "";
  expect(secret).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(await environment.api.get(id)).toMatchObject({ enabled: false });
  await environment.emit();
  await dialog.getByText("Resuming sends 1 event of the last seven days that came meanwhile.").waitFor();
  expect(environment.receiver.requests).toHaveLength(0);

  await dialog.getByRole("button", { name: "Resume", exact: true }).click();
  await dialog.getByRole("button", { name: "Send a sample" }).waitFor();
  const [request] = await environment.receiver.received(1);
  expect(signatureOf(request)).toBe(signatureBy(secret, request));
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await page.reload();
  await page.getByLabel("Name").waitFor();
  expect(await page.content()).not.toContain(secret);
});

test("§2.3/shown a replacement that is left in the middle leaves a paused webhook, which its page resumes", async () => {
  const { id } = await webhook();
  const page = await environment.signIn(`/webhooks/${id}/settings`);
  await page.getByRole("button", { name: "Replace signing secret" }).click();
  await page.getByRole("button", { name: "Pause and replace" }).click();
  await page.getByText("it waits, also if you close this page").waitFor();
  await page.close();
  const later = await environment.signIn(`/webhooks/${id}`);
  await later.getByRole("heading", { name: "Paused by developer" }).waitFor();
  await later.getByRole("button", { name: "Resume…" }).waitFor();
});

test("§4.1.2 a sample is sent beside the secret of a new webhook, signed with it, and its result stands there", async () => {
  const page = await environment.signIn("/webhooks/new");
  await page.getByLabel("Name").fill("Billing mirror");
  await page.getByLabel("Endpoint URL").fill(environment.receiver.url);
  await page.getByRole("checkbox", { name: "RiskCreated" }).check();
  await page.getByRole("button", { name: "Save webhook" }).click();
  const dialog = page.getByRole("dialog", { name: "Signing secret of Billing mirror" });
  const secret = (await dialog.getByTestId("signing-secret").textContent()) ?? "";
  await dialog.getByRole("button", { name: "Send a sample" }).click();
  await dialog.getByText("Succeeded: the receiver answered 200.").waitFor();
  const [request] = await environment.receiver.received(1);
  expect(JSON.parse(request?.body.toString() ?? "")).toMatchObject({ type: "RiskCreated" });
  expect(signatureOf(request)).toBe(signatureBy(secret, request));
  environment.receiver.answerWith({ status: 401 });
  await dialog.getByRole("button", { name: "Send a sample" }).click();
  await dialog.getByText("Attempt 1 failed: 401.").waitFor();
});

test("an event that is chosen has its sample and its schema beside it", async () => {
  const page = await environment.signIn("/webhooks/new");
  await page.getByText("Sample and schema of RiskCreated").click();
  const sample = page.getByRole("group", { name: "sample of RiskCreated" });
  expect(JSON.parse((await sample.textContent()) ?? "")).toMatchObject({ type: "RiskCreated" });
  const schema = await page.getByRole("link", { name: "JSON Schema of its body" }).getAttribute("href");
  const answer = await page.request.get(new URL(schema ?? "", page.url()).href);
  expect(await answer.json()).toMatchObject({ $schema: expect.stringContaining("json-schema.org") });
});

test("§3.1/pause several webhooks are paused and resumed at once; after a failure the others stay chosen", async () => {
  for (const name of ["First", "Second", "Third"])
    await environment.api.create({ name, url: environment.receiver.url, events: ["RiskCreated"] });
  const states = async () => (await environment.api.list()).map(({ name, enabled }) => `${name} ${enabled}`).sort();
  const page = await environment.signIn();
  await page.getByRole("button", { name: "Pause or resume several…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Select all 3" }).click();
  await dialog.getByRole("checkbox", { name: "Third" }).uncheck();
  const [, second] = await environment.api.list();
  let isCut = false;
  await page.route(`**/webhooks/${second?.id}`, async (route) => {
    if (isCut || route.request().method() !== "PUT") return await route.fallback();
    isCut = true;
    await route.abort("connectionreset");
  });
  await dialog.getByRole("button", { name: "Pause 2 webhooks" }).click();
  await dialog.getByText("It is not known whether Second was paused.").waitFor();
  await dialog.getByRole("button", { name: "Pause 1 webhook" }).click();
  await dialog.waitFor({ state: "hidden" });
  expect(await states()).toEqual(["First false", "Second false", "Third true"]);
  await page.getByRole("radio", { name: /^Paused/ }).check();
  await page.getByRole("rowheader", { name: "Third" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Pause or resume several…" }).click();
  await dialog.getByRole("button", { name: "Select all 2" }).click();
  await dialog.getByRole("button", { name: "Resume 2 webhooks" }).click();
  await page.locator("#announcements").getByText("2 webhooks are resumed.").waitFor({ state: "attached" });
  await dialog.waitFor({ state: "hidden" });
  expect(await states()).toEqual(["First true", "Second true", "Third true"]);
});

test("§4.1.5 deleting takes the webhook's name and says that the history goes", async () => {
  const { id } = await webhook();
  const page = await environment.signIn(`/webhooks/${id}`);
  await page.getByRole("button", { name: "Delete…" }).click();
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

test("a URL of another server says at once that no stored value is kept, at the value", async () => {
  const { id } = await webhook({ headers: { Authorization: "Bearer one" } });
  const page = await environment.signIn(`/webhooks/${id}/settings`);
  const value = page.getByLabel("Value of header 1");
  const url = page.getByLabel("Endpoint URL");
  const before = await url.inputValue();
  await url.fill("https://other.example/x");
  await page.getByText("no stored value is kept: give each again").waitFor();
  expect(await value.getAttribute("placeholder")).not.toContain("kept");
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByText("It was not saved.").waitFor();
  await eventually(async () => expect(await value.evaluate((field) => field === document.activeElement)).toBe(true));
  expect(await page.getByLabel("Name of header 1").getAttribute("aria-invalid")).toBe(null);
  await value.fill("Bearer two");
  await page.getByText("no stored value is kept").waitFor({ state: "hidden" });
  await url.fill(`${before}/another/path`);
  await value.fill("");
  expect(await value.getAttribute("placeholder")).toContain("kept");
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
