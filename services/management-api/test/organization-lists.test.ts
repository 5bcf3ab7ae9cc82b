import { randomUUID } from "node:crypto";
import type { DeliveryListItem, DeliveryPage, EventPage } from "@herald/contracts";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, expect, test } from "@jest/globals";
import { states, storeDelivery } from "./support/deliveries.ts";
import { type Client, partsOf, useApi } from "./support/use-api.ts";

const HOUR_MS = 3_600_000;
const clock = steeredClock(new Date());
const api = useApi({ clock });
let client: Client;
let organizationId: string;

beforeEach(async () => {
  organizationId = api.newOrganization();
  client = await api.as({ organizationId, expiresInS: 100_000 });
});

/** A time with whole milliseconds. */
const hoursAgo = (hours: number) => new Date(clock.now().getTime() - Math.round(hours * HOUR_MS));
const endpoint = (name: string, row: object = {}) =>
  insertEndpoint(api.prisma, { organizationId, name, createdAt: hoursAgo(1_000), ...row });
const event = (row: Parameters<typeof insertEvent>[2] = {}) => insertEvent(api.prisma, organizationId, row);
const deliver = (to: { id: string; organizationId: string }, of: Awaited<ReturnType<typeof event>>, row: object = {}) =>
  insertDelivery(api.prisma, to, { eventKey: of.key, eventType: of.type, createdAt: of.occurredAt, ...row });
const notTaken = (cameAt: Date, row: object = {}) =>
  api.prisma.undeliveredEvent.create({
    data: {
      ...{ eventId: randomUUID(), organizationId, cause: "unknown_type", type: "Misspelt", reason: "/type", cameAt },
      ...row,
    },
  });

const idOf = ({ id }: { id: string }) => id;
const eventPages = (query: string) => partsOf<EventPage>(client, `/events?${query}`);
const deliveryPages = (query: string) => partsOf<DeliveryPage>(client, `/deliveries?${query}`);
const events = async (query: string) => (await eventPages(query)).flatMap((page) => page.events.map(idOf));
const undelivered = async (query: string) => (await eventPages(query)).flatMap((page) => page.undelivered.map(idOf));
const deliveries = async (query = "limit=100") =>
  (await deliveryPages(query)).flatMap((page) => page.deliveries.map(idOf));

test("the list of events has each event once, newest first, in parts, even if events are of the same millisecond", async () => {
  const stored = [];
  for (let index = 0; index < 23; index++)
    stored.push(await event({ occurredAt: hoursAgo(1 + Math.floor(index / 6)) }));
  await insertEvent(api.prisma, api.newOrganization(), { occurredAt: hoursAgo(1) });
  const byKey = stored.sort((one, other) => (one.key < other.key ? 1 : -1)).map(idOf);
  expect(await events("limit=5")).toEqual(byKey);
  expect(await events("limit=20")).toEqual(byKey);
});

test("the list of events is narrowed by types, entity and time, and all of them have to fit", async () => {
  const entityId = randomUUID();
  const old = await event({ occurredAt: hoursAgo(5), type: "RiskCreated", entityId });
  const risk = await event({ occurredAt: hoursAgo(3), type: "RiskCreated" });
  const done = await event({ occurredAt: hoursAgo(2), entityId });
  const project = await event({ occurredAt: hoursAgo(1), type: "ProjectCreated" });
  expect(await events("limit=20&type=RiskCreated&type=ProjectCreated")).toEqual([project, risk, old].map(idOf));
  expect(await events(`entityId=${entityId}`)).toEqual([done, old].map(idOf));
  expect(await events(`entityId=${entityId}&type=RiskCreated`)).toEqual([old.id]);
  const from = `from=${hoursAgo(3).toISOString()}`;
  expect(await events(from)).toEqual([project, done, risk].map(idOf));
  expect(await events(`${from}&to=${hoursAgo(1).toISOString()}`)).toEqual([done, risk].map(idOf));
  expect(await events(`id=${risk.id}&${from}`)).toEqual([risk.id]);
  expect(await events(`id=${old.id}&${from}`)).toEqual([]);
  expect(await events(`id=${old.id}&type=ProjectCreated`)).toEqual([]);
});

test("events of a rare type are found however many others there are, some parts being empty", async () => {
  const rare = await event({ occurredAt: hoursAgo(40), type: "RiskCreated" });
  await api.prisma.$executeRaw`
    insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
    select ${organizationId}, event_key(${organizationId}, id, at), id, 'WorkItemCompleted', id, at, at, '{}'
    from generate_series(1, 5000) as number
    cross join lateral (
      select gen_random_uuid() as id, date_trunc('milliseconds', ${hoursAgo(1)}::timestamptz) - number * interval '1 second' as at
    ) as event`;
  const pages = await eventPages("type=RiskCreated");
  expect(pages.flatMap((page) => page.events.map(idOf))).toEqual([rare.id]);
  expect(pages.length).toBeGreaterThan(1);
});

test("the list of events is narrowed by how an id begins: the event's, or its entity's", async () => {
  const one = await event({ id: "b70c1219-1111-4111-8111-111111111111", occurredAt: hoursAgo(3) });
  const other = await event({ entityId: "b70c1219-2222-4222-8222-222222222222", occurredAt: hoursAgo(2) });
  await event({ id: "b70c1220-1111-4111-8111-111111111111", occurredAt: hoursAgo(1) });
  expect(await events("idPrefix=b70c1219")).toEqual([other.id, one.id]);
  expect(await events("idPrefix=B70C1219-1")).toEqual([one.id]);
  expect(await events("idPrefix=b70c12192222")).toEqual([other.id]);
  expect(await events(`idPrefix=${one.id}`)).toEqual([one.id]);
  expect(await events("idPrefix=b70c1219&limit=1")).toEqual([other.id, one.id]);
  expect(await events(`idPrefix=b70c1219&from=${hoursAgo(2.5).toISOString()}`)).toEqual([other.id]);
  expect(await events(`idPrefix=b70c1219&id=${one.id}`)).toEqual([one.id]);
  expect(await events("idPrefix=ffffffff")).toEqual([]);
});

test("what was not taken stands in the part of its time, once, with its reason", async () => {
  const stored = [];
  for (let hour = 1; hour <= 6; hour++) stored.push(await event({ occurredAt: hoursAgo(hour) }));
  const times = [0.5, 2, 3.5, 3.5, 8];
  const came = [];
  for (const time of times) came.push(await notTaken(hoursAgo(time)));
  await notTaken(hoursAgo(2), { organizationId: api.newOrganization() });
  const pages = await eventPages("limit=2");
  expect(pages.flatMap((page) => page.events.map(idOf))).toEqual(stored.map(idOf));
  const seen = pages.map((page) => page.undelivered.map(({ cameAtUtc }) => cameAtUtc));
  const atHour = (hour: number) => hoursAgo(hour).toISOString();
  expect(seen.flat()).toEqual(times.map(atHour));
  // The first part ends with the event of two hours ago, and what came in its millisecond is behind it.
  expect(seen[0]).toEqual([atHour(0.5)]);
  expect(new Set(await undelivered("limit=2"))).toEqual(new Set(came.map(({ eventId }) => eventId)));
  expect(pages[0]?.undelivered[0]).toEqual({
    ...{ id: came[0]?.eventId, type: "Misspelt", cause: "unknown_type", reason: "/type", cameAtUtc: atHour(0.5) },
  });
});

test("what was not taken is narrowed by id, by how it begins, by type and by time; of an entity nothing is known", async () => {
  const one = await notTaken(hoursAgo(2), { eventId: "b70c1219-1111-4111-8111-111111111111" });
  const other = await notTaken(hoursAgo(1), { cause: "rejected", type: "RiskCreated" });
  expect(await undelivered(`id=${one.eventId}`)).toEqual([one.eventId]);
  expect(await undelivered("idPrefix=b70c1219")).toEqual([one.eventId]);
  expect(await undelivered("type=RiskCreated")).toEqual([other.eventId]);
  expect(await undelivered(`to=${hoursAgo(1).toISOString()}`)).toEqual([one.eventId]);
  expect(await undelivered(`from=${hoursAgo(1).toISOString()}`)).toEqual([other.eventId]);
  expect(await undelivered(`entityId=${randomUUID()}`)).toEqual([]);
});

test("very many that were not taken come in parts too, and the events between them stay in their places", async () => {
  const stored = [];
  for (let hour = 1; hour <= 3; hour++) stored.push(await event({ occurredAt: hoursAgo(hour) }));
  await api.prisma.$executeRaw`
    insert into undelivered_event (event_id, organization_id, cause, type, reason, came_at)
    select gen_random_uuid(), ${organizationId}, 'too_old', 'RiskCreated', 'old', ${hoursAgo(0.5)}::timestamptz - (number / 2) * interval '1 minute'
    from generate_series(1, 250) as number`;
  const pages = await eventPages("limit=20");
  expect(pages.flatMap((page) => page.events.map(idOf))).toEqual(stored.map(idOf));
  const came = pages.flatMap((page) => page.undelivered.map(({ cameAtUtc }) => cameAtUtc));
  expect(came).toHaveLength(250);
  expect(came).toEqual([...came].sort().reverse());
  const ids = pages.flatMap((page) => page.undelivered.map(idOf));
  expect(new Set(ids).size).toBe(250);
  for (const [index, page] of pages.entries()) {
    const later = pages.slice(index + 1).flatMap(({ events: all }) => all.map(({ occurredAtUtc }) => occurredAtUtc));
    const earliest = page.undelivered.at(-1)?.cameAtUtc ?? "";
    for (const time of later) expect(earliest >= time).toBe(true);
  }
});

test("the list of deliveries has the deliveries of all endpoints, newest first, in parts, each with endpoint, event and entity", async () => {
  const receivers = [await endpoint("one"), await endpoint("other", { enabled: false }), await endpoint("quiet")];
  const stored: string[] = [];
  for (let index = 0; index < 9; index++) {
    const of = await event({ occurredAt: hoursAgo(1 + Math.floor(index / 3)) });
    for (const receiver of receivers.slice(0, 1 + (index % 2))) stored.push((await deliver(receiver, of)).id);
  }
  const elsewhere = await insertEndpoint(api.prisma);
  await storeDelivery(api.prisma, elsewhere);
  const sorted = stored.sort().reverse();
  for (const limit of [1, 4, 100]) expect(await deliveries(`limit=${limit}`)).toEqual(sorted);

  const { body } = await client.get("/deliveries").expect(200);
  const byEndpoint = new Map(receivers.map(({ id, name }) => [id, name]));
  for (const item of body.deliveries as DeliveryListItem[]) {
    expect(item.endpointName).toBe(byEndpoint.get(item.endpointId));
    expect(item.outcome).toBe(item.endpointName === "other" ? "parked" : "waiting");
    const of = await api.prisma.businessEvent.findFirstOrThrow({
      where: { organizationId, id: item.businessEventId ?? "" },
    });
    expect(item.entityId).toBe(of.entityId);
  }
  const own = await client.get(`/webhooks/${receivers[1]?.id}/deliveries`).expect(200);
  const others = body.deliveries.filter(({ endpointName }: DeliveryListItem) => endpointName === "other");
  expect(own.body.deliveries).toEqual(others);
});

test("the list of deliveries is narrowed by endpoint, outcome, status, type and time", async () => {
  const [one, other] = [await endpoint("one"), await endpoint("other")];
  const early = await event({ occurredAt: hoursAgo(3), type: "RiskCreated" });
  const late = await event({ occurredAt: hoursAgo(1) });
  const a = await deliver(one, early, states.exhausted);
  const b = await deliver(other, early, states.succeeded);
  const c = await deliver(one, late, states.failing);
  const manual = await storeDelivery(api.prisma, other, { ...states.succeeded, body: "{}", createdAt: hoursAgo(2) });
  const sorted = (...rows: { id: string }[]) => rows.map(idOf).sort().reverse();
  expect(await deliveries()).toEqual(sorted(a, b, c, { id: manual }));
  expect(await deliveries(`endpointId=${one.id}`)).toEqual(sorted(a, c));
  expect(await deliveries("outcome=exhausted&outcome=failing")).toEqual(sorted(a, c));
  await api.prisma.webhookEndpoint.update({ where: { id: one.id }, data: { enabled: false } });
  expect(await deliveries("outcome=parked")).toEqual([c.id]);
  expect(await deliveries("outcome=failing")).toEqual([]);
  expect(await deliveries("statusCode=410")).toEqual([a.id]);
  expect(await deliveries("eventType=RiskCreated")).toEqual(sorted(a, b));
  expect(await deliveries(`from=${hoursAgo(2.5).toISOString()}`)).toEqual(sorted(c, { id: manual }));
  expect(await deliveries(`to=${hoursAgo(2.5).toISOString()}&endpointId=${other.id}`)).toEqual([b.id]);
  expect(await deliveries(`deliveryId=${manual}`)).toEqual([manual]);
  expect(await deliveries(`endpointId=${randomUUID()}`)).toEqual([]);
  const { body } = await client.get(`/deliveries?deliveryId=${manual}`).expect(200);
  expect(body.deliveries).toMatchObject([{ endpointName: "other", entityId: null }]);
  expect(body.deliveries[0]).not.toHaveProperty("businessEventId");
});

test("the list of deliveries is narrowed by event, by entity, and by how their ids begin, at every endpoint", async () => {
  const receivers = [await endpoint("one"), await endpoint("other")];
  const entityId = "b70c1219-2222-4222-8222-222222222222";
  const first = await event({ occurredAt: hoursAgo(3), entityId });
  const second = await event({ occurredAt: hoursAgo(2), entityId });
  const third = await event({ occurredAt: hoursAgo(1) });
  const stored: { id: string; of: string }[] = [];
  for (const each of [first, second, third]) {
    for (const to of receivers) stored.push({ id: (await deliver(to, each)).id, of: each.id });
  }
  const of = (...ids: string[]) =>
    stored
      .filter((each) => ids.includes(each.of))
      .map(idOf)
      .sort()
      .reverse();
  expect(await deliveries(`eventId=${first.id}`)).toEqual(of(first.id));
  expect(await deliveries(`entityId=${entityId}`)).toEqual(of(first.id, second.id));
  expect(await deliveries(`entityId=${entityId}&limit=1`)).toEqual(of(first.id, second.id));
  expect(await deliveries("idPrefix=b70c1219")).toEqual(of(first.id, second.id));
  expect(await deliveries(`idPrefix=${third.id.slice(0, 13)}`)).toEqual(of(third.id));
  const { body } = await client.get(`/webhooks/${receivers[0]?.id}/deliveries?idPrefix=b70c1219`).expect(200);
  expect(body.deliveries).toHaveLength(2);
});

test("rare ones are found among very many of several endpoints", async () => {
  const receivers = [await endpoint("one"), await endpoint("other"), await endpoint("quiet")];
  const rare = await deliver(
    receivers[2] as (typeof receivers)[0],
    await event({ occurredAt: hoursAgo(30) }),
    states.exhausted,
  );
  for (const { id } of receivers.slice(0, 2)) {
    await api.prisma.$executeRaw`
      insert into delivery (id, endpoint_id, organization_id, event_type, body, state, created_at)
      select overlay(gen_random_uuid()::text placing left(delivery_id(event_key('x', ${id}::uuid, at), ${id}::uuid)::text, 14) from 1 for 14)::uuid,
             ${id}::uuid, ${organizationId}, 'RiskCreated', '{}', 'succeeded', at
      from generate_series(1, 2500) as number
      cross join lateral (select ${hoursAgo(1)}::timestamptz - number * interval '1 second' as at) as delivery`;
  }
  const pages = await deliveryPages("outcome=exhausted");
  expect(pages.flatMap((page) => page.deliveries.map(idOf))).toEqual([rare.id]);
  expect(pages.length).toBeGreaterThan(1);
  const all = await deliveries();
  expect(new Set(all).size).toBe(5_001);
  expect(all).toEqual([...all].sort().reverse());
});
