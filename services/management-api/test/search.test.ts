import { randomUUID } from "node:crypto";
import type { EndpointDelivery, EventListItem } from "@herald/contracts";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, expect, test } from "@jest/globals";
import { states, storeDelivery } from "./support/deliveries.ts";
import { type Client, useApi } from "./support/use-api.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const clock = steeredClock(new Date());
const api = useApi({ clock });
let client: Client;
let organizationId: string;

beforeEach(async () => {
  organizationId = api.newOrganization();
  client = await api.as({ organizationId, expiresInS: 100_000 });
});

const daysAgo = (days: number) => new Date(clock.now().getTime() - days * DAY_MS);
const endpoint = (name: string, row: object = {}) =>
  insertEndpoint(api.prisma, { organizationId, name, createdAt: daysAgo(30), ...row });
const event = (row: Parameters<typeof insertEvent>[2] = {}) =>
  insertEvent(api.prisma, organizationId, { occurredAt: daysAgo(1), ...row });
const deliver = (to: { id: string; organizationId: string }, { key }: { key: string }, row: object = {}) =>
  insertDelivery(api.prisma, to, { eventKey: key, createdAt: daysAgo(1), ...row });
const find = async (query: string) => (await client.get(`/events?${query}`).expect(200)).body;
const idsOf = (events: EventListItem[]) => events.map(({ id }) => id);

/** By the endpoints' names: the outcome of the delivery, or the reason why there is none. */
const fates = ({ endpoints }: { endpoints: EndpointDelivery[] }) =>
  Object.fromEntries(
    endpoints.map(({ endpointName, delivery, reason }) => [endpointName, delivery?.outcome ?? reason]),
  );

test("an event is found by its id, with what it was, and at each endpoint its delivery or the reason why it has none", async () => {
  const taken = await endpoint("taken");
  const failing = await endpoint("failing");
  const parked = await endpoint("parked", { enabled: false, disabledReason: "failures" });
  await endpoint("later", { createdAt: clock.now() });
  await endpoint("other types", { events: ["RiskCreated"] });
  await endpoint("paused", { enabled: false, disabledReason: "paused" });
  await endpoint("new");
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const stored = await event({ receivedAt: clock.now(), traceparent, body: body("WorkItem") });
  await deliver(taken, stored, states.succeeded);
  const due = { dueAt: new Date(clock.now().getTime() + MINUTE_MS) };
  const { id: failingId } = await deliver(failing, stored, { ...states.failing, due });
  await deliver(parked, stored, states.failing);

  const found = await find(`id=${stored.id}`);
  expect(found).toMatchObject({ manualDelivery: null, undelivered: [], nextCursor: null });
  const [shown, ...more] = found.events;
  expect(more).toEqual([]);
  expect(shown).toMatchObject({
    key: stored.key,
    id: stored.id,
    type: "WorkItemCompleted",
    occurredAtUtc: daysAgo(1).toISOString(),
    receivedAtUtc: clock.now().toISOString(),
    entityType: "WorkItem",
    entityId: stored.entityId,
    traceparent,
  });
  expect(fates(shown)).toEqual({
    taken: "succeeded",
    failing: "failing",
    parked: "parked",
    later: "created_later",
    "other types": "not_subscribed",
    paused: "disabled",
    new: "not_yet",
  });
  const names = shown.endpoints.map(({ endpointName }: EndpointDelivery) => endpointName);
  expect(names).toEqual([...names].sort());
  expect(shown.endpoints).toContainEqual({
    endpointId: failing.id,
    endpointName: "failing",
    reason: null,
    delivery: expect.objectContaining({
      id: failingId,
      businessEventId: stored.id,
      attemptCount: 2,
      statusCode: 503,
      errorSummary: states.failing.errorSummary,
      nextAttemptAtUtc: due.dueAt.toISOString(),
    }),
  });
});

test("§6.1/window an event that has left the window says so, even if the endpoint is disabled", async () => {
  await endpoint("enabled");
  await endpoint("paused", { enabled: false, disabledReason: "paused" });
  await endpoint("other types", { events: ["RiskCreated"] });
  const { id } = await event({ occurredAt: daysAgo(7.5) });
  expect(fates((await find(`id=${id}`)).events[0])).toEqual({
    enabled: "older_than_window",
    paused: "older_than_window",
    "other types": "not_subscribed",
  });
});

test("one event shows the body that receivers get, character for character", async () => {
  const text = body('Wörk\\Item"', { number: "1.00" }).replace('"1.00"', "1.00");
  const { key } = await event({ body: text, traceparent: "00-1-2-3" });
  await endpoint("new");
  const { body: shown } = await client.get(`/events/${key}`).expect(200);
  expect(shown).toMatchObject({ key, body: text, traceparent: "00-1-2-3", entityType: 'Wörk\\Item"' });
  expect(fates(shown)).toEqual({ new: "not_yet" });
  const { body: again } = await client.get(`/events/${key.toUpperCase()}`).expect(200);
  expect(again.key).toBe(key);
});

test("an event is found by one of its deliveries, with all of them", async () => {
  const [one, other] = [await endpoint("one"), await endpoint("other")];
  const stored = await event();
  const { id } = await deliver(one, stored, states.exhausted);
  await deliver(other, stored, states.succeeded);
  const { events } = await find(`deliveryId=${id.toUpperCase()}`);
  expect(events.map(fates)).toEqual([{ one: "exhausted", other: "succeeded" }]);
});

test("a manual delivery is of no event: the search shows the delivery", async () => {
  const receiver = await endpoint("receiver");
  const id = await storeDelivery(api.prisma, receiver, { ...states.failing, body: "{}" });
  const found = await find(`deliveryId=${id}`);
  expect(found).toMatchObject({
    events: [],
    manualDelivery: {
      endpointId: receiver.id,
      endpointName: "receiver",
      delivery: { id, outcome: "failing" },
      reason: null,
    },
  });
  expect(found.manualDelivery.delivery).not.toHaveProperty("businessEventId");
  expect(await find(`deliveryId=${id}&entityId=${randomUUID()}`)).toMatchObject({ events: [], manualDelivery: null });
});

test("several ids narrow the search, and the same id at another time is another event", async () => {
  const receiver = await endpoint("receiver");
  const first = await event({ occurredAt: daysAgo(2) });
  const second = await event({ id: first.id });
  const { id } = await deliver(receiver, first);
  expect((await find(`id=${first.id}`)).events).toMatchObject([{ key: second.key }, { key: first.key }]);
  expect((await find(`id=${first.id}&entityId=${second.entityId}`)).events).toMatchObject([{ key: second.key }]);
  expect((await find(`deliveryId=${id}&id=${first.id}&entityId=${first.entityId}`)).events).toMatchObject([
    { key: first.key },
  ]);
  expect(idsOf((await find(`deliveryId=${id}&entityId=${second.entityId}`)).events)).toEqual([]);
});

test("an event that was never stored is not found", async () => {
  const nothing = { events: [], manualDelivery: null, undelivered: [], nextCursor: null };
  for (const key of [randomUUID(), "nothing"]) {
    expect((await client.get(`/events/${key}`).expect(404)).body.code).toBe("event_not_found");
  }
  for (const name of ["id", "entityId", "deliveryId"]) expect(await find(`${name}=${randomUUID()}`)).toEqual(nothing);
});

test("a cursor from the end of time finds what is stored", async () => {
  const { entityId, id } = await event();
  const cursor = Buffer.alloc(16, 0xff).toString("base64url");
  expect(idsOf((await find(`entityId=${entityId}&cursor=${cursor}`)).events)).toEqual([id]);
});

function body(entityType: string, data: object = {}): string {
  return JSON.stringify({
    id: randomUUID(),
    type: "WorkItemCompleted",
    occurredAtUtc: daysAgo(1).toISOString(),
    entityType,
    entityId: randomUUID(),
    data,
  });
}
