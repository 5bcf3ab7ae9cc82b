import { randomUUID } from "node:crypto";
import { Prisma } from "@herald/common/database/generated/client";
import { deliveryId } from "@herald/common/database/ids";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import { shardOf } from "@herald/common/database/shards";
import { statementFailures } from "@herald/common/database/statement-failures";
import type { Log } from "@herald/common/telemetry/log";
import { eventually } from "@herald/dev/harness/eventually";
import { setUserSettings } from "@herald/dev/harness/odd-settings";
import { insertEndpoint, ownShards } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { impatient, lockWaiters, useDatabase, whileLocked } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { createFanOut, type FanOut, type FanOutItem } from "../src/event/fan-out.ts";
import { insertRejections, insertUndelivered } from "../src/sql/insert-undelivered.ts";
import { makePartitions } from "../src/sql/partitions.ts";
import type { IncomingEvent } from "../src/sql/rows.ts";
import { FIRST_ENDPOINT, type StoredEvents, storeEvents } from "../src/sql/store-events.ts";
import { incomingEvent, NOW, refuseDeliveries, SILENT, taskParts } from "./given.ts";

const db = useDatabase();
const OWNER = randomUUID();

/** Stores events with the first thousand deliveries of each, in one statement. */
const store = (...events: IncomingEvent[]) =>
  storeEvents(
    db.database.queries,
    events.map((event) => ({ event, afterEndpointId: FIRST_ENDPOINT, maxEndpoints: 1_000 })),
    NOW,
  );
const endpointIdsOf = ({ made: { deliveries, work } }: StoredEvents) =>
  [...new Set([...deliveries, ...work].map(({ endpointId }) => endpointId))].toSorted();
const NOTHING = { stored: true, deliveries: [], work: [] };
const deliveriesOf = (endpointId: string) =>
  db.database.prisma.delivery.findMany({ where: { endpointId }, orderBy: { id: "asc" } });
const dueOf = (endpointId: string) =>
  db.database.prisma.due.findMany({ where: { endpointId }, orderBy: { deliveryId: "asc" } });

test("an event becomes one delivery for each endpoint that wants it, due now, for the owner of the endpoint's shard", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const first = await insertEndpoint(prisma, { organizationId });
  const second = await insertEndpoint(prisma, { organizationId, events: ["RiskCreated", "WorkItemCompleted"] });
  await ownShards(prisma, OWNER);
  const one = incomingEvent(organizationId);
  const { made, deliveryCount, unfinished } = await store(one);
  expect(deliveryCount).toBe(2);
  expect([...unfinished]).toEqual([]);
  expect(made).toEqual({ stored: true, deliveries: expect.anything(), work: [] });
  for (const endpoint of [first, second]) {
    const id = deliveryId(one.key, endpoint.id);
    expect(await deliveriesOf(endpoint.id)).toMatchObject([
      {
        id,
        organizationId,
        eventKey: one.key,
        eventType: "WorkItemCompleted",
        body: null,
        state: "pending",
        attemptCount: 0,
        nextAttemptAt: null,
        createdAt: NOW,
      },
    ]);
    expect(await dueOf(endpoint.id)).toMatchObject([
      { shard: shardOf(endpoint.id), deliveryId: id, dueAt: NOW, attempts: 0, interruptions: 0 },
    ]);
    expect(made.deliveries.filter(({ endpointId }) => endpointId === endpoint.id)).toEqual([
      { id, endpointId: endpoint.id, revision: String(endpoint.revision), readAt: NOW, event: one, owner: OWNER },
    ]);
  }
  expect(await prisma.businessEvent.findMany({ where: { organizationId } })).toMatchObject([
    {
      key: one.key,
      id: one.id,
      type: one.type,
      entityId: one.entityId,
      occurredAt: NOW,
      receivedAt: NOW,
      body: one.body,
    },
  ]);
});

test("each delivery is for the owner of its own endpoint's shard, or has no owner", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const ids = ["00", "01", "ff"].map((shard) => `${randomUUID().slice(0, -2)}${shard}`) as [string, string, string];
  for (const id of ids) await insertEndpoint(prisma, { id, organizationId });
  const other = randomUUID();
  await ownShards(prisma, OWNER);
  await prisma.shard.update({ where: { id: 1 }, data: { owner: other } });
  await prisma.shard.update({ where: { id: 255 }, data: { owner: null } });
  const { made } = await store(incomingEvent(organizationId));
  const owners = new Map(made.deliveries.map(({ endpointId, owner }) => [endpointId, owner]));
  expect(ids.map((id) => owners.get(id))).toEqual([OWNER, other, null]);
});

test("an endpoint is ready for events on arrival if it does not fail, and its shard's owner is not new, also after PostgreSQL's clock was set back", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const ids = ["00", "01", "02", "03", "04"].map((shard) => `${randomUUID().slice(0, -2)}${shard}`);
  for (const [index, id] of ids.entries()) {
    await insertEndpoint(prisma, { id, organizationId, consecutiveFailures: index === 1 ? 1 : 0 });
  }
  await ownShards(prisma, OWNER);
  await prisma.shard.update({ where: { id: 3 }, data: { onArrivalFrom: null } });
  await prisma.shard.update({ where: { id: 4 }, data: { onArrivalFrom: new Date(Date.now() + 3_600_000) } });
  // Again if the machine took seconds for it.
  await eventually(async () => {
    await prisma.shard.update({ where: { id: 2 }, data: { onArrivalFrom: new Date(Date.now() + 14_000) } });
    const { subscriptions } = await store(incomingEvent(organizationId));
    const ready = new Map(subscriptions[0]?.endpoints.map(({ id, isReady }) => [id, isReady]));
    expect(ids.map((id) => ready.get(id))).toEqual([true, false, false, false, true]);
  });
});

test("if a statement makes more than a thousand deliveries, each endpoint is named once", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const endpoints = [
    await insertEndpoint(prisma, { organizationId }),
    await insertEndpoint(prisma, { organizationId }),
  ];
  const byId = (one: { endpointId: string }, other: { endpointId: string }) =>
    one.endpointId < other.endpointId ? -1 : 1;
  await ownShards(prisma, OWNER);
  const few = await store(...Array.from({ length: 500 }, () => incomingEvent(organizationId)));
  expect(few).toMatchObject({ made: { work: [] }, deliveryCount: 1_000 });
  expect(few.made.deliveries).toHaveLength(1_000);
  const many = await store(...Array.from({ length: 501 }, () => incomingEvent(organizationId)));
  expect(many).toMatchObject({ made: { deliveries: [] }, deliveryCount: 1_002 });
  expect(many.made.work.toSorted(byId)).toEqual(
    endpoints.map(({ id }) => ({ endpointId: id, organizationId, owner: OWNER })).toSorted(byId),
  );
});

test("the body of an event that comes again is not handed over, since it may not be the stored one", async () => {
  const { prisma } = db.database;
  const { id, organizationId } = await insertEndpoint(prisma);
  await ownShards(prisma, OWNER);
  const event = incomingEvent(organizationId);
  const other = incomingEvent(organizationId);
  const twice = await store(event, { ...event, body: "another" }, other);
  expect(twice.made.deliveries).toMatchObject([{ endpointId: id, event: other }]);
  expect(new Set(twice.made.work.map(({ endpointId }) => endpointId))).toEqual(new Set([id]));
  expect(twice.deliveryCount).toBe(2);
  const later = await insertEndpoint(prisma, { organizationId });
  expect(await store({ ...event, body: "another" })).toMatchObject({
    made: { deliveries: [], work: [{ endpointId: later.id, organizationId, owner: OWNER }] },
    deliveryCount: 1,
  });
});

test("a due row that was left behind without its delivery does not stop an event from being stored and handed over", async () => {
  const { prisma } = db.database;
  const { id: endpointId, organizationId } = await insertEndpoint(prisma);
  const event = incomingEvent(organizationId);
  const left = { deliveryId: deliveryId(event.key, endpointId), endpointId, dueAt: NOW };
  await prisma.due.create({ data: { shard: shardOf(endpointId), ...left } });
  expect(await store(event)).toMatchObject({ made: { deliveries: [{ id: left.deliveryId }] }, deliveryCount: 1 });
  expect(await dueOf(endpointId)).toMatchObject([left]);
});

test.each<[string, Parameters<typeof insertEndpoint>[1], Partial<IncomingEvent>]>([
  ["§6/names another event's subscription", { events: ["RiskCreated"] }, {}],
  ["§3.1/pause a disabled endpoint", { enabled: false }, {}],
  [
    "§6.1/creation an endpoint created after the event",
    { createdAt: NOW },
    { occurredAt: new Date(NOW.getTime() - 1) },
  ],
  ["another organization's endpoint", { organizationId: "someone-else" }, {}],
])("there is no delivery for %s, though the event is stored", async (_name, endpointRow, eventRow) => {
  const organizationId = randomUUID();
  const endpoint = await insertEndpoint(db.database.prisma, { organizationId, ...endpointRow });
  expect(await store(incomingEvent(organizationId, eventRow))).toMatchObject({ made: NOTHING, deliveryCount: 0 });
  expect(await deliveriesOf(endpoint.id)).toEqual([]);
  expect(await db.database.prisma.businessEvent.count({ where: { organizationId } })).toBe(1);
});

test("regression: what an event lacks is stored as null, also by a user whose sessions read no NULL in an array", async () => {
  await setUserSettings(db, [["array_nulls", "off"]]);
  const { queries, prisma, close } = openDatabase(db.url);
  try {
    const event = incomingEvent(randomUUID(), { traceparent: null });
    await storeEvents(queries, [{ event, afterEndpointId: FIRST_ENDPOINT, maxEndpoints: 1 }], NOW);
    expect(await prisma.businessEvent.findFirst({ where: { key: event.key } })).toMatchObject({ traceparent: null });
    const unread = { cause: "rejected", eventId: event.id, eventType: null, reason: "unreadable" } as const;
    await insertUndelivered(queries, [{ ...unread, organizationId: event.organizationId }], NOW);
    await insertRejections(queries, [{ ...unread, organizationId: null }], NOW);
    expect(await prisma.undeliveredEvent.findFirst()).toMatchObject({ type: null });
    expect(await prisma.notice.findFirst()).toMatchObject({ organizationId: null });
  } finally {
    await close();
    await setUserSettings(db, []);
  }
});

test("an event that comes again with another body and another type changes nothing, and names no endpoint", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const endpoint = await insertEndpoint(prisma, { organizationId });
  const other = await insertEndpoint(prisma, { organizationId, events: ["RiskCreated"] });
  const one = incomingEvent(organizationId);
  await store(one);
  const again = { ...one, body: "another body", type: "RiskCreated" };
  expect(await store(again, again)).toMatchObject({ made: NOTHING, deliveryCount: 0 });
  expect(await deliveriesOf(endpoint.id)).toHaveLength(1);
  expect(await deliveriesOf(other.id)).toEqual([]);
  expect(await prisma.businessEvent.findMany({ where: { organizationId } })).toMatchObject([
    { body: one.body, type: one.type },
  ]);
});

test("a delivery that has ended is not made or queued again when its event comes again", async () => {
  const { prisma } = db.database;
  const { id, organizationId } = await insertEndpoint(prisma);
  const one = incomingEvent(organizationId);
  await store(one);
  await prisma.delivery.updateMany({ where: { endpointId: id }, data: { state: "succeeded", attemptCount: 1 } });
  await prisma.due.deleteMany({ where: { endpointId: id } });
  expect(await store(one)).toMatchObject({ made: NOTHING, deliveryCount: 0 });
  expect(await deliveriesOf(id)).toMatchObject([{ state: "succeeded", attemptCount: 1 }]);
  expect(await dueOf(id)).toEqual([]);
});

test("an event's deliveries are made in pages, none of them larger than its limit", async () => {
  const { queries, prisma } = db.database;
  const organizationId = randomUUID();
  for (let count = 0; count < 7; count++) await insertEndpoint(prisma, { organizationId });
  const event = incomingEvent(organizationId);
  let afterEndpointId: string | undefined = FIRST_ENDPOINT;
  const pages: string[][] = [];
  while (afterEndpointId !== undefined) {
    const page = { event, afterEndpointId, maxEndpoints: 3 };
    const stored = await storeEvents(queries, [page], NOW);
    const { unfinished } = stored;
    pages.push(endpointIdsOf(stored));
    afterEndpointId = unfinished.get(page);
  }
  expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
  expect(new Set(pages.flat()).size).toBe(7);
  expect(await prisma.due.count({ where: { endpointId: { in: pages.flat() } } })).toBe(7);
});

test("an event whose process died between two pages gets the missing deliveries when it comes again", async () => {
  const { queries, prisma } = db.database;
  const organizationId = randomUUID();
  const endpoints = [];
  for (let count = 0; count < 5; count++) endpoints.push((await insertEndpoint(prisma, { organizationId })).id);
  const event = incomingEvent(organizationId);
  const first = await storeEvents(queries, [{ event, afterEndpointId: FIRST_ENDPOINT, maxEndpoints: 2 }], NOW);
  expect(endpointIdsOf(first)).toHaveLength(2);
  const again = await store(event);
  expect(again.deliveryCount).toBe(3);
  expect([...endpointIdsOf(first), ...endpointIdsOf(again)].toSorted()).toEqual(endpoints.toSorted());
});

test("an event that another process stores at the same moment is unfinished, and has all its deliveries the next time", async () => {
  const { queries, prisma } = db.database;
  const { id, organizationId } = await insertEndpoint(prisma);
  const event = incomingEvent(organizationId);
  const { traceparent, ...row } = event;
  const page = { event, afterEndpointId: FIRST_ENDPOINT, maxEndpoints: 1_000 };
  let storing: Promise<StoredEvents> | undefined;
  await prisma.$transaction(async (transaction) => {
    // The other one dies before the deliveries.
    await transaction.businessEvent.create({ data: { ...row, traceparent, receivedAt: NOW } });
    storing = storeEvents(queries, [page], NOW);
    await eventually(async () => expect(await lockWaiters(prisma)).toBe(1));
  });
  const stored = await storing;
  expect(stored).toMatchObject({ made: NOTHING, deliveryCount: 0 });
  expect(stored?.unfinished.get(page)).toBe(FIRST_ENDPOINT);
  expect(await store(event)).toMatchObject({ made: { work: [{ endpointId: id }] }, deliveryCount: 1 });
});

test("a fan-out does not wait for an endpoint that is being deleted or changed", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const deleted = await insertEndpoint(prisma, { organizationId });
  const changed = await insertEndpoint(prisma, { organizationId });
  await prisma.$transaction(async (transaction) => {
    await transaction.webhookEndpoint.delete({ where: { id: deleted.id } });
    await transaction.webhookEndpoint.update({ where: { id: changed.id }, data: { name: "another" } });
    // Within the transaction: its locks would block the statement until the timeout.
    expect(await store(incomingEvent(organizationId))).toMatchObject({ deliveryCount: 2 });
  });
});

test.each([
  ["that are new", false],
  ["that lack their deliveries", true],
])("batches that hold the same events in different orders, %s, do not deadlock", async (_what, areStored) => {
  const { prisma } = db.database;
  const { id, organizationId } = await insertEndpoint(prisma);
  for (let round = 0; round < 5; round++) {
    const events = Array.from({ length: 200 }, () => incomingEvent(organizationId));
    if (areStored) await store(...events);
    await prisma.due.deleteMany({ where: { endpointId: id } });
    await prisma.delivery.deleteMany({ where: { endpointId: id } });
    await Promise.all([store(...events), store(...events.toReversed()), store(...events)]);
    expect(await deliveriesOf(id)).toHaveLength(200);
    expect(await dueOf(id)).toHaveLength(200);
  }
});

const MAX_EVENTS = 250;

let stopRefusing: () => Promise<void> = async () => {};
afterEach(() => stopRefusing());

function fanOut(log = SILENT, { queries, failures }: Pick<Database, "queries" | "failures"> = db.database): FanOut {
  const clock = { now: () => NOW, monotonicMs: () => 0 };
  const { signal } = new AbortController();
  const { createProgress } = failures;
  return createFanOut({ ...taskParts(queries, clock), createProgress, log, signal }, { maxEvents: MAX_EVENTS });
}

/** An organization with this many endpoints. */
async function organizationWith(endpoints: number): Promise<string> {
  const organizationId = randomUUID();
  for (let count = 0; count < endpoints; count++) await insertEndpoint(db.database.prisma, { organizationId });
  return organizationId;
}

const eventsOf = (organizationId: string, count: number): FanOutItem[] =>
  Array.from({ length: count }, () => ({ event: incomingEvent(organizationId) }));
const countDeliveries = (organizationId: string) => db.database.prisma.delivery.count({ where: { organizationId } });

test("events that are too much for one statement are stored by smaller ones, with another organization's among them", async () => {
  const wide = await organizationWith(10);
  const other = await organizationWith(1);
  stopRefusing = await refuseDeliveries(db.database.prisma, "(select count(*) from made) > 35", "57014");
  const items = [...eventsOf(wide, 10), ...eventsOf(other, 1), ...eventsOf(wide, 10)];
  const { outcomes, made, deliveryCount } = await fanOut().together(items);
  expect(outcomes).toEqual(items.map(() => ({ kind: "stored" })));
  expect(deliveryCount).toBe(201);
  expect(new Set(made.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))).size).toBe(201);
  expect(await countDeliveries(wide)).toBe(200);
  expect(await countDeliveries(other)).toBe(1);
});

test.each(["57014", "55P03", "40P01"])(
  "an event that is too much even alone (%s) is set aside, and the others are stored",
  async (code) => {
    const locked = await organizationWith(1);
    const other = await organizationWith(1);
    const condition = `exists (select from made where organization_id = '${locked}')`;
    stopRefusing = await refuseDeliveries(db.database.prisma, condition, code);
    const [bad] = eventsOf(locked, 1) as [FanOutItem];
    const items = [...eventsOf(other, 20), bad, ...eventsOf(other, 20)];
    const { outcomes } = await fanOut().together(items);
    expect(outcomes.flatMap(({ kind }, index) => (kind === "stored" ? [] : [[kind, items[index]]]))).toEqual([
      ["too much", bad],
    ]);
    expect(await countDeliveries(other)).toBe(40);
    expect(await countDeliveries(locked)).toBe(0);

    // Even alone, in pages of one delivery; and once the cause is gone it is stored.
    expect((await fanOut().alone(bad)).outcomes).toMatchObject([{ kind: "too much" }]);
    await stopRefusing();
    expect((await fanOut().alone(bad)).outcomes).toEqual([{ kind: "stored" }]);
    expect(await countDeliveries(locked)).toBe(1);
  },
);

test.each(["business_event", "delivery", "due"])(
  "a locked table %s is a PostgreSQL that stores no events: the log says so once, and they are stored when it is free",
  async (table) => {
    const { prisma } = db.database;
    const clock = steeredClock();
    const failures = statementFailures(clock.monotonicMs);
    const lines: string[] = [];
    const say = (line: string) => void lines.push(line);
    const fanning = fanOut({ ...SILENT, info: say, warn: say }, { queries: impatient(db.database, 100), failures });
    const items = eventsOf(await organizationWith(1), 4);
    await whileLocked(prisma, Prisma.raw(`lock table ${table} in access exclusive mode`), async () => {
      const outcomes = fanning.together(items).then((result) => result.outcomes);
      await eventually(() => expect(lines).toHaveLength(1));
      clock.advance(10_000);
      expect((await outcomes).map(({ kind }) => kind)).toEqual(items.map(() => "too much"));
      expect(failures.seconds()).toBe(10);
    });
    expect((await fanning.together(items)).outcomes).toEqual(items.map(() => ({ kind: "stored" })));
    expect(failures.seconds()).toBe(0);
    expect(lines).toEqual([
      "fan-outs wait for a lock or run out of time; fewer are tried at once",
      "fan-outs wait for no lock any more, and end in time",
    ]);
  },
);

test("an event gets all its deliveries page by page if PostgreSQL can only store a few at once", async () => {
  const wide = await organizationWith(10);
  stopRefusing = await refuseDeliveries(db.database.prisma, "(select count(*) from made) > 3", "57014");
  const [item] = eventsOf(wide, 1) as [FanOutItem];
  const fanning = fanOut();
  expect((await fanning.together([item])).outcomes).toMatchObject([{ kind: "too much" }]);
  let outcome = (await fanning.alone(item)).outcomes[0];
  while (outcome?.kind === "unfinished") {
    outcome = (await fanning.alone({ ...item, afterEndpointId: outcome.afterEndpointId })).outcomes[0];
  }
  expect(outcome).toEqual({ kind: "stored" });
  expect(await countDeliveries(wide)).toBe(10);
});

test("a statement makes at most 5,000 deliveries, however many endpoints the events have", async () => {
  const organizationId = await organizationWith(60);
  stopRefusing = await refuseDeliveries(db.database.prisma, "(select count(*) from made) > 5000", "57014");
  const items = eventsOf(organizationId, 200);
  const first = await fanOut().together(items);
  // 25 endpoints for each of 200 events.
  expect(first.deliveryCount).toBe(5_000);
  const rest = items.map(({ event }, index) => {
    const outcome = first.outcomes[index];
    if (outcome?.kind !== "unfinished") throw new Error(`The outcome is ${outcome?.kind}.`);
    return { event, afterEndpointId: outcome.afterEndpointId };
  });
  expect((await fanOut().together(rest)).deliveryCount).toBe(5_000);
});

test("an event that PostgreSQL refuses is named with the reason, and the others are stored", async () => {
  const organizationId = await organizationWith(1);
  const [good, another] = eventsOf(organizationId, 2) as [FanOutItem, FanOutItem];
  const bad = { event: incomingEvent(organizationId, { body: "a\u0000b" }) };
  const { outcomes } = await fanOut().together([good, bad, another]);
  expect(outcomes).toMatchObject([
    { kind: "stored" },
    { kind: "unstorable", reason: expect.stringMatching(/can't be stored: .*encoding/) },
    { kind: "stored" },
  ]);
  expect(await countDeliveries(organizationId)).toBe(2);
});

test("events of a time that has no partition wait, as while PostgreSQL is away, and are stored once it has one", async () => {
  const { prisma, queries } = db.database;
  const organizationId = randomUUID();
  const occurredAt = new Date("2300-06-01T00:00:00Z");
  await insertEndpoint(prisma, { organizationId });
  const logged: string[] = [];
  const log: Log = { ...SILENT, error: (message) => void logged.push(message) };
  const stored = fanOut(log).together([{ event: incomingEvent(organizationId, { occurredAt }) }]);
  await eventually(() => expect(logged).toEqual([expect.stringContaining("there is no partition for this time")]));
  await makePartitions(queries, { first: "2300-01-01", end: "2301-01-01" });
  expect(await stored).toMatchObject({ outcomes: [{ kind: "stored" }], deliveryCount: 1 });
});
