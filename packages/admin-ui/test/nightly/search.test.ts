import { randomUUID } from "node:crypto";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const environment = useTestEnvironment({ sharedOrganization: true, dispatcher: false });
const entityId = randomUUID();
let event: Awaited<ReturnType<typeof insertEvent>>;
let deliveryId: string;
let manualId: string;

const ago = (ms: number) => new Date(environment.clock.now().getTime() - ms);

beforeAll(async () => {
  const { prisma } = environment.db.database;
  const { organizationId } = environment.api;
  const webhook = (name: string, row: object = {}) =>
    insertEndpoint(prisma, { organizationId, name, createdAt: ago(20 * DAY_MS), ...row });
  const billing = await webhook("Billing");
  await webhook("Chat");
  await webhook("Payroll", { events: ["RiskCreated"] });
  await webhook("Radar", { enabled: false, disabledReason: "paused", disabledBy: "Ana", disabledAt: ago(9 * DAY_MS) });
  await webhook("Staging", { createdAt: ago(HOUR_MS) });
  const body = '{"id":"of the search"}';
  event = await insertEvent(prisma, organizationId, { entityId, occurredAt: ago(2 * HOUR_MS), body });
  const latest = { attemptCount: 1, statusCode: 204, durationMs: 12, attemptedAt: ago(HOUR_MS) };
  const delivery = (row: object) => insertDelivery(prisma, billing, { state: "succeeded", ...latest, ...row });
  deliveryId = (await delivery({ eventKey: event.key, createdAt: ago(2 * HOUR_MS) })).id;
  manualId = (await delivery({ createdAt: ago(HOUR_MS) })).id;
});

async function find(page: Page, words: string): Promise<void> {
  const box = page.getByRole("searchbox", { name: "Find an event, entity, delivery or webhook" });
  await box.fill(words);
  await box.press("Enter");
}

const fate = (page: Page, name: string) => page.getByRole("listitem").filter({ hasText: name });

test("from the first digits of an entity's id to the reason why a webhook has nothing: two actions, from any scene", async () => {
  const page = await environment.signIn();
  await find(page, entityId.slice(0, 8));
  await fate(page, "Billing").getByText("Succeeded").waitFor();
  await fate(page, "Payroll").getByText("Not subscribed").waitFor();
  await fate(page, "Radar").getByText("Not active").waitFor();
  await fate(page, "Staging").getByText("Created later").waitFor();
  await fate(page, "Chat").getByText("On its way").waitFor();
  await fate(page, "Staging").getByText("The webhook was created after the event occurred").waitFor();
});

test("an event's own page says what it was, what became of it, and shows the body that receivers get", async () => {
  const page = await environment.signIn();
  await find(page, deliveryId);
  await page.getByRole("link", { name: "event with its body" }).click();
  await page.getByRole("heading", { level: 1, name: "WorkItemCompleted" }).waitFor();
  await page.getByText('"id": "of the search"').waitFor();
  await page.getByRole("radio", { name: "As sent" }).check();
  await page.getByText('{"id":"of the search"}').waitFor();
  await page.getByText(entityId).waitFor();
  await fate(page, "Payroll").getByText("Not subscribed").waitFor();
  await page.getByRole("link", { name: "All its events" }).click();
  await fate(page, "Billing").getByText("Succeeded").waitFor();
});

test("a manual delivery is found by its id, however it was copied, and said to be of no event", async () => {
  const page = await environment.signIn();
  for (const words of [manualId, `X-Service-Delivery-Id: ${manualId}`, manualId.replaceAll("-", "").toUpperCase()]) {
    await find(page, words);
    await page.waitForURL(`**/search?q=${encodeURIComponent(words)}`);
    await page.getByText("A manual delivery, without an event").waitFor();
  }
  await page.getByRole("link", { name: "Billing" }).click();
  await page.waitForURL(`**/deliveries/${manualId}`);
});

test("a webhook is found by a part of its name or URL, and by its id, however it was copied", async () => {
  const page = await environment.signIn();
  const where = { organizationId: environment.api.organizationId, name: "Radar" };
  const { id } = await environment.db.database.prisma.webhookEndpoint.findFirstOrThrow({ where });
  const pasted = [`"${id}",`, `${environment.pageUrl}/webhooks/${id}`, `\u200b${id.replaceAll("-", "\u2011")}`];
  for (const words of ["rada", id, ...pasted]) {
    await find(page, words);
    await page.getByRole("region", { name: "One webhook" }).getByRole("link", { name: "Radar" }).waitFor();
  }
  await page.getByRole("link", { name: "Radar" }).first().click();
  await page.getByText("Paused by Ana").waitFor();
});

test("the search says why an event was not taken, with the reason if it broke the contract", async () => {
  const { prisma } = environment.db.database;
  const { organizationId } = environment.api;
  const eventId = randomUUID();
  const row = { eventId, organizationId, cameAt: ago(HOUR_MS) };
  await prisma.undeliveredEvent.createMany({
    data: [
      { ...row, cause: "unknown_type", type: "WorkItemCompletd", reason: "no such type" },
      { ...row, cause: "rejected", type: "RiskCreated", reason: "/entityId must be a UUID" },
    ],
  });
  const page = await environment.signIn();
  await find(page, eventId);
  const misspelt = page.getByRole("region", { name: "WorkItemCompletd, delivered to no webhook" });
  await misspelt.getByText("there is no type of this exact name").waitFor();
  const broken = page.getByRole("region", { name: "RiskCreated, delivered to no webhook" });
  await broken.getByText("/entityId must be a UUID").waitFor();
});

test("an event's address with any other id than its key is a search for that id", async () => {
  const page = await environment.signIn(`/events/${event.id}`);
  await page.getByRole("link", { name: "event with its body" }).waitFor();
  await page.goto(`${environment.pageUrl}/events/${manualId}`);
  await page.getByText("A manual delivery, without an event").waitFor();
  await page.goto(`${environment.pageUrl}/events/${randomUUID()}`);
  await page.getByText("Nothing was found").waitFor();
});

test("webhooks that have no delivery for the same reason share a line, below those that have one", async () => {
  const { prisma } = environment.db.database;
  const { organizationId } = environment.api;
  const names = ["A second one", "Also not"];
  for (const name of names)
    await insertEndpoint(prisma, { organizationId, name, createdAt: ago(20 * DAY_MS), events: ["RiskCreated"] });
  const page = await environment.signIn(`/events/${event.key}`);
  const lines = page.getByRole("region", { name: "What became of it at each webhook" }).getByRole("listitem");
  await fate(page, "Also not").waitFor();
  expect(await lines.first().textContent()).toContain("Billing");
  expect(await page.getByText("isn't subscribed to events of this type").count()).toBe(1);
  expect(await fate(page, "Also not").getByRole("link").allTextContents()).toEqual([...names, "Payroll"]);
  await prisma.webhookEndpoint.deleteMany({ where: { organizationId, name: { in: names } } });
});
