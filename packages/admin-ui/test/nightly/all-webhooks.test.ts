import { insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { beforeAll, expect, test } from "@jest/globals";
import type { Locator } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const environment = useTestEnvironment({ sharedOrganization: true, dispatcher: false });
const ago = (ms: number) => new Date(environment.clock.now().getTime() - ms);

const WORK_ITEM = "4711abcd-0000-4000-8000-000000000001";
const RISK = "4711beef-0000-4000-8000-000000000002";
const ids = {
  done: "b70c1219-1111-4111-8111-111111111111",
  risk: "c81d2320-2222-4222-8222-222222222222",
  misspelt: "d92e3431-3333-4333-8333-333333333333",
};

let radarId = "";
beforeAll(async () => {
  const { prisma } = environment.db.database;
  const { organizationId } = environment.api;
  const webhook = (name: string, events: string[]) =>
    insertEndpoint(prisma, { organizationId, name, events, createdAt: ago(20 * DAY_MS) });
  const billing = await webhook("Billing", ["WorkItemCompleted", "RiskCreated"]);
  const radar = await webhook("Radar", ["RiskCreated"]);
  radarId = radar.id;
  const done = await insertEvent(prisma, organizationId, {
    ...{ id: ids.done, entityId: WORK_ITEM, occurredAt: ago(3 * DAY_MS) },
  });
  const risk = await insertEvent(prisma, organizationId, {
    ...{ id: ids.risk, entityId: RISK, type: "RiskCreated", occurredAt: ago(2 * HOUR_MS) },
  });
  const deliver = async (to: typeof billing, of: typeof done, row: object) => {
    await insertDelivery(prisma, to, {
      ...{ eventKey: of.key, eventType: of.type, createdAt: of.occurredAt },
      ...{ attemptCount: 1, statusCode: 204, durationMs: 12, attemptedAt: of.occurredAt, state: "succeeded", ...row },
    });
  };
  await deliver(billing, done, {});
  await deliver(billing, risk, {});
  await deliver(radar, risk, { state: "exhausted", attemptCount: 5, statusCode: 410, errorSummary: "gone" });
  await insertDelivery(prisma, radar, {
    ...{ state: "succeeded", eventType: "RiskCreated", attemptCount: 1, statusCode: 200, createdAt: ago(HOUR_MS) },
  });
  await prisma.undeliveredEvent.create({
    data: {
      ...{ eventId: ids.misspelt, organizationId, cause: "unknown_type", type: "RiskCreatd", reason: "no such type" },
      cameAt: ago(HOUR_MS),
    },
  });
});

test("events are listed newest first, what was not taken among them, and lead to what became of each", async () => {
  const page = await environment.signIn();
  await page.getByRole("navigation", { name: "Parts of webhooks" }).getByRole("link", { name: "Events" }).click();
  await page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
  const links = page.getByRole("rowheader").getByRole("link");
  await links.nth(2).waitFor();
  const names = await links.evaluateAll((all) => all.map((link) => link.getAttribute("aria-label")));
  expect(names).toEqual([
    "RiskCreatd, delivered to no webhook, event d92e3431…3333",
    "RiskCreated, entity 4711beef…0002, event c81d2320…2222",
    "WorkItemCompleted, entity 4711abcd…0001, event b70c1219…1111",
  ]);
  const fates = page
    .locator("[data-event]")
    .nth(1)
    .getByText(/^1 (succeeded|given up)$/);
  expect((await fates.allTextContents()).sort()).toEqual(["1 given up", "1 succeeded"]);
  await links.first().click();
  await page.getByText("there is no type of this exact name").waitFor();
  await page.goBack();
  await links.nth(1).click();
  await page.getByRole("listitem").filter({ hasText: "Radar" }).getByText("Given up").waitFor();
});

test("deliveries to all webhooks name their webhook, are narrowed in the address, and open at their webhook", async () => {
  const page = await environment.signIn("/deliveries");
  const links = page.getByRole("rowheader").getByRole("link");
  await links.nth(3).waitFor();
  const names = await links.evaluateAll((all) => all.map((link) => link.getAttribute("aria-label") ?? ""));
  expect(new Set(names).size).toBe(4);
  expect(names).toContain("Given up, RiskCreated, entity 4711beef…0002, event c81d2320…2222, to Radar");
  expect(names[0]).toMatch(/^Succeeded, RiskCreated, manual delivery [0-9a-f]{8}…[0-9a-f]{4}, to Radar$/);
  await page.getByLabel("Webhook", { exact: true }).selectOption("Billing");
  await links.nth(2).waitFor({ state: "detached" });
  expect(await links.count()).toBe(2);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("textbox", { name: "Response status" }).fill("410");
  await page.waitForURL("**/deliveries?status=410");
  await links.nth(1).waitFor({ state: "detached" });
  await links.first().click();
  await page.getByRole("dialog", { name: "RiskCreated delivery" }).getByText(RISK).waitFor();
  expect(page.url()).toMatch(/\/webhooks\/[0-9a-f-]{36}\/deliveries\/[0-9a-f-]{36}$/);
});

test("on a phone a delivery has two lines and an event one, down to 320 px", async () => {
  const page = await environment.signIn();
  for (const [place, row, most] of [
    ["/deliveries", "[data-delivery]", 72],
    ["/events", "[data-event]", 56],
  ] as const) {
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(environment.pageUrl + place);
      const rows = page.locator(row);
      await rows.nth(2).waitFor();
      const heights = await rows.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
      expect({ place, width, heights: heights.filter((height) => height > most) }).toEqual({
        ...{ place, width, heights: [] },
      });
      // The column of an event's outcomes, or of its delivery's.
      const cut = await rows.evaluateAll((all) =>
        all
          .map((each) => each.querySelector("td:nth-of-type(3)"))
          .filter((cell) => cell && cell.scrollWidth > cell.clientWidth)
          .map((cell) => cell?.textContent),
      );
      expect({ place, width, cut: place === "/events" ? cut : [] }).toEqual({ place, width, cut: [] });
    }
  }
});

test("regression: what clears the filters is gone then, and leaves the focus at the first of them", async () => {
  const page = await environment.signIn();
  const bar = page.getByRole("search").last();
  const outcome = bar.getByRole("radio", { name: "All", exact: true });
  const event = bar.getByRole("combobox", { name: "Event" });
  const filters = bar.getByRole("button", { name: "Filters" });
  const missed = `/webhooks/${radarId}/never-got`;
  for (const [width, place, pressed, first] of [
    [1280, "/deliveries?outcome=exhausted&period=24h", "Clear", outcome],
    [1280, "/events?period=24h", "Clear", event],
    [1280, `${missed}?period=24h`, "Clear", event],
    [360, "/deliveries?outcome=exhausted&period=24h", "Clear", outcome],
    [360, "/events?period=24h", "Clear", filters],
    [360, `${missed}?period=24h`, "Clear", filters],
    [1280, "/deliveries?status=599", "Show all deliveries", outcome],
    [360, "/events?id=ffffffff", "Show all events", filters],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(environment.pageUrl + place);
    const clear = page.getByRole("main").getByText(pressed, { exact: true });
    await clear.click();
    await clear.waitFor({ state: "detached" });
    const hasFocus = await first.evaluate((each) => each === document.activeElement);
    expect({ width, place, hasFocus }).toEqual({ width, place, hasFocus: true });
  }
});

test("the tabs are one line on a phone, with the current one in sight; the filters are two lines at 1280 px", async () => {
  const { endpoint } = await environment.api.create({ name: "Tabs", url: environment.receiver.url });
  const page = await environment.signIn("/deliveries?from=2026-01-01");
  const linesOf = async (elements: Locator) =>
    new Set((await Promise.all((await elements.all()).map((each) => each.boundingBox()))).map((box) => box?.y)).size;
  const filters = page.getByRole("search").last();
  await filters.getByRole("button", { name: "Clear" }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  expect(await filters.evaluate((bar) => bar.getBoundingClientRect().height)).toBeLessThan(120);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(`${environment.pageUrl}/webhooks/${endpoint.id}/changes`);
  const tabs = page.getByRole("navigation", { name: "Parts of this webhook" }).getByRole("link");
  await tabs.last().waitFor();
  expect(await linesOf(tabs)).toBe(1);
  const box = await tabs.last().boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
  await environment.api.delete(endpoint.id);
});

test("on a phone the filters are one line, and those that are set are seen below it", async () => {
  const page = await environment.signIn("", { viewport: { width: 360, height: 740 } });
  await page.goto(`${environment.pageUrl}/deliveries?outcome=expired`);
  const bar = page.getByRole("search").last();
  const height = async () => (await bar.boundingBox())?.height;
  const chosen = bar.getByText("Too old");
  await chosen.waitFor();
  expect(await height()).toBeLessThan(80);
  const [inner, outer] = await Promise.all([chosen.boundingBox(), bar.getByRole("group").boundingBox()]);
  expect(inner?.x).toBeGreaterThan(outer?.x ?? 0);
  expect((inner?.x ?? 0) + (inner?.width ?? 0)).toBeLessThan((outer?.x ?? 0) + (outer?.width ?? 0));

  const filters = bar.getByRole("button", { name: "Filters" });
  const event = bar.getByRole("combobox", { name: "Event" });
  const period = bar.getByRole("combobox", { name: "Period" });
  await filters.focus();
  await page.keyboard.press("Enter");
  await event.waitFor();
  await period.selectOption("Last 24 hours");
  await page.waitForURL("**/deliveries?outcome=expired&period=24h");
  await filters.press("Space");
  await event.waitFor({ state: "hidden" });
  await page.reload();
  await period.waitFor();
  expect(await height()).toBeLessThan(130);
  // What has the focus stays.
  await period.focus();
  await period.selectOption("Any time");
  await page.waitForURL("**/deliveries?outcome=expired");
  expect(await period.evaluate((element) => element === document.activeElement)).toBe(true);
  await filters.focus();
  await period.waitFor({ state: "hidden" });
});
