import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

/** Reasons are also there unseen, for screen readers. */
const visibly = (page: Page, words: RegExp) => page.getByText(words).filter({ visible: true }).first();

test("§5.2 an account that may only view sees everything, can change nothing, and reads why", async () => {
  const { endpoint } = await environment.api.create({ name: "Billing mirror", url: environment.receiver.url });
  await environment.emit();
  const page = await environment.signIn("", { permissions: ["integrations.view"] });
  const reason = /You may look, not change: your account lacks the permission integrations\.manage/;
  const isOff = async (name: string) => {
    const button = page.getByRole("button", { name });
    await button.first().waitFor();
    expect(await button.first().getAttribute("aria-disabled")).toBe("true");
  };
  await page.getByRole("link", { name: "Billing mirror" }).waitFor();
  await isOff("New webhook");
  await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}`);
  await page.getByRole("link", { name: "Succeeded, WorkItemCompleted" }).click();
  await page.getByRole("dialog").getByRole("heading", { name: "Body" }).waitFor();
  await page.keyboard.press("Escape");
  await isOff("Pause…");
  await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/settings`);
  await visibly(page, reason).waitFor();
  await isOff("Save webhook");
  expect(await page.getByLabel("Name").isEditable()).toBe(false);
  await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/manual`);
  await visibly(page, reason).waitFor();
  await isOff("Send manual delivery");
  await page.goto(`${environment.pageUrl}/webhooks/new`);
  await visibly(page, reason).waitFor();
  await isOff("Save webhook");
});

test("§5.4 an account that may not even view reads what is missing", async () => {
  const page = await environment.signIn("", { permissions: [] });
  await page.getByRole("heading", { name: "You may not see webhooks" }).waitFor();
  await page.getByText("the permission integrations.view").waitFor();
});

test("§5.3 without the entitlement one can look and delete, not save", async () => {
  const { endpoint } = await environment.api.create({ name: "Billing mirror", url: environment.receiver.url });
  const page = await environment.signIn(`/webhooks/${endpoint.id}/settings`, { entitlements: [] });
  await visibly(page, /your account lacks the entitlement integrations/).waitFor();
  expect(await page.getByRole("button", { name: "Delete…" }).getAttribute("aria-disabled")).toBeNull();
});

test("the page says whose it is: the person, by name if the token has one, and the organization", async () => {
  const organizationId = "0190a1b2-0000-7000-8000-0000000000aa";
  const whose = (page: Page, name: string) => page.getByText(`\u2068${name}\u2069 · \u2068${organizationId}\u2069`);
  await whose(await environment.signIn("", { organizationId }), "developer").waitFor();
  const named = whose(await environment.signIn("", { organizationId, name: "ليلى المنصوري" }), "ليلى المنصوري");
  // The id is in one piece beside a name that is written from right to left.
  const pieces = await named.evaluate((element, id) => {
    const text = element.lastChild as Text;
    const range = document.createRange();
    range.setStart(text, text.data.indexOf(id));
    range.setEnd(text, text.data.indexOf(id) + id.length);
    return range.getClientRects().length;
  }, organizationId);
  expect(pieces).toBe(1);
});

test("the head of the page says where one is, and leads back", async () => {
  const { endpoint } = await environment.api.create({ name: "Billing mirror", url: environment.receiver.url });
  const page = await environment.signIn(`/webhooks/${endpoint.id}/settings`);
  const trail = page.getByRole("navigation", { name: "You are here" });
  const steps = async () => await trail.getByRole("listitem").allTextContents();
  await page.getByLabel("Endpoint URL").waitFor();
  expect(await steps()).toEqual(["Integrations", "Webhooks", "Billing mirror"]);
  await trail.getByRole("link", { name: "Webhooks" }).click();
  await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
  expect(await steps()).toEqual(["Integrations", "Webhooks"]);
});

test("§5.4 a session that ends in the middle loses nothing that was typed", async () => {
  const page = await environment.signIn("/webhooks/new");
  await page.getByLabel("Name").fill("Half finished");
  await page.getByLabel("Endpoint URL").fill("https://receiver.example");
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByText("Your session has ended.").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("Half finished");
  await page.context().addCookies(cookies);
  // The page looks by itself too: it may be back before the click, and the button gone.
  const tryNow = page.getByRole("button", { name: "Try now" });
  await tryNow.click({ timeout: 2_000 }).catch(() => tryNow.waitFor({ state: "hidden" }));
  await page.getByText("Your session has ended.").waitFor({ state: "hidden" });
  expect(await page.getByLabel("Name").inputValue()).toBe("Half finished");
});

test("while the API is down the page keeps what it has, says since when, and recovers by itself", async () => {
  await environment.api.create({ name: "Billing mirror", url: environment.receiver.url });
  const page = await environment.signIn();
  await page.getByRole("link", { name: "Billing mirror" }).waitFor();
  await page.route("**/api/**", (route) => route.abort("connectionrefused"));
  await page.getByText("Herald's API can't be reached.").waitFor();
  await page.getByText(/It stopped answering/).waitFor();
  expect(await page.getByRole("link", { name: "Billing mirror" }).isVisible()).toBe(true);
  await page.unroute("**/api/**");
  await page.getByText("Herald's API can't be reached.").waitFor({ state: "hidden" });
});

test("an API that is down from the start has a state of its own, and so has a gateway's error page", async () => {
  const page = await environment.signIn();
  await page.route("**/api/**", (route) =>
    route.fulfill({ status: 502, body: "<h1>Bad gateway</h1>", contentType: "text/html" }),
  );
  await page.reload();
  await page.getByRole("heading", { name: "Could not load your session" }).waitFor();
  await page.unroute("**/api/**");
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
});

test("after too many requests the page names the time to wait", async () => {
  const { endpoint } = await environment.api.create({ name: "Billing mirror", url: environment.receiver.url });
  const page = await environment.signIn(`/webhooks/${endpoint.id}/settings`);
  await page.route(`**/webhooks/${endpoint.id}`, (route) =>
    route.request().method() === "PUT"
      ? route.fulfill({
          ...{ status: 429, headers: { "retry-after": "17" }, contentType: "application/problem+json" },
          body: JSON.stringify({ type: "t", title: "t", status: 429, code: "c", detail: "Slow down.", requestId: "r" }),
        })
      : route.fallback(),
  );
  await page.getByLabel("Name").fill("Another");
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.getByText("Slow down. Try again in 17 s.").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("Another");
});
