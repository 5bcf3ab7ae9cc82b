import type { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt } from "@herald/common/database/ids";
import { shardOf } from "@herald/common/database/shards";
import { Registry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/dev/harness/eventually";
import { pagesRead } from "@herald/dev/harness/plans";
import { idAt, insertDelivery, insertEndpoint, insertEvent, insertResend, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { lockWaiters, useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { expireDue } from "../src/sql/erase-old.ts";
import { dropPartitions, makePartitions, readPartitions } from "../src/sql/partitions.ts";
import { dayOf } from "../src/tasks/partitions.ts";
import { createErasure, eraseOld } from "../src/tasks/retention.ts";
import { queriesAround, taskParts } from "./given.ts";

const db = useDatabase({ partitioned: false });
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const NOW = new Date("2026-06-01T00:00:00.000Z");
const clock = steeredClock(NOW);
const daysAgo = (days: number) => new Date(NOW.getTime() - days * DAY_MS);

type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

beforeEach(async () => {
  for (const partition of await readPartitions(db.database.queries))
    await dropPartitions(db.database.queries, partition);
  await db.database.prisma
    .$executeRaw`truncate webhook_endpoint, due, exhaustion, endpoint_change, resend, undelivered_event, endpoint_hour`;
});

let registry = new Registry();

function run({ signal = new AbortController().signal, queries = db.database.queries, keptDays = 30 } = {}) {
  registry = new Registry();
  return eraseOld(
    taskParts(queries, clock, registry),
    { keepMs: keptDays * DAY_MS, windowMs: 7 * DAY_MS, pageSize: 10 },
    signal,
  );
}

/** The pages of what is unfinished. */
const beforePages = (before: () => unknown) => queriesAround(db.database.queries, "from due", { before });

const daysLeft = async () => (await readPartitions(db.database.queries)).map(({ first }) => first);
/** Partitions of a day each, that began these days ago. */
const makeDays = async (...days: number[]) => {
  for (const day of days) await makeDaysBetween(day, day - 1);
};
const makeDaysBetween = (from: number, to: number) =>
  makePartitions(db.database.queries, { first: dayOf(daysAgo(from)), end: dayOf(daysAgo(to)) });

const NOTHING = { partition: 0, change: 0, resend: 0, undelivered: 0, rate: 0, expired: 0 };

/** A delivery of `days` days ago with one earlier attempt: by default finished, and attempted then. */
async function delivery(
  endpoint: Endpoint,
  days: number,
  row: Partial<Prisma.DeliveryUncheckedCreateInput> = {},
): Promise<string> {
  const createdAt = daysAgo(days);
  const attempt = { attemptCount: 2, attemptedAt: createdAt, durationMs: 1, statusCode: 200 };
  const made = await insertDelivery(db.database.prisma, endpoint, {
    createdAt,
    state: "succeeded",
    ...attempt,
    ...row,
  });
  await db.database.prisma.deliveryAttempt.create({
    data: { deliveryId: made.id, number: 1, startedAt: createdAt, durationMs: 1, statusCode: 500 },
  });
  return made.id;
}

/** An event of `days` days ago, and its delivery. */
async function eventAndDelivery(
  endpoint: Endpoint,
  days: number,
  row: Partial<Prisma.DeliveryUncheckedCreateInput> = {},
) {
  const { key } = await insertEvent(db.database.prisma, endpoint.organizationId, { occurredAt: daysAgo(days) });
  const id = await delivery(endpoint, days, { eventKey: key, ...row });
  return { key, id };
}

const stateOf = async (id: string) =>
  (await db.database.prisma.delivery.findUnique({ where: { id }, select: { state: true } }))?.state;
const dueLeft = () => db.database.prisma.due.count();
/** The rows for notices of an endpoint's deliveries. */
const recordedOf = (endpoint: Endpoint) =>
  db.database.prisma.exhaustion.findMany({ where: { endpointId: endpoint.id } });
const countRecorded = async (endpoint: Endpoint) =>
  (await recordedOf(endpoint)).reduce((sum, { deliveries }) => sum + deliveries, 0);
const deliveriesLeft = async () => (await db.database.prisma.delivery.findMany()).map(({ id }) => id).sort();
const eventsLeft = async () => (await db.database.prisma.businessEvent.findMany()).map(({ key }) => key).sort();
const attemptsLeft = async () =>
  (await db.database.prisma.deliveryAttempt.findMany()).map(({ deliveryId }) => deliveryId).sort();

test("partitions go whole when their last day has been over for 30 days", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDays(400, 31, 30, 29);
  await eventAndDelivery(endpoint, 400);
  await eventAndDelivery(endpoint, 31, { state: "exhausted" });
  const kept = await eventAndDelivery(endpoint, 30);
  expect(await run()).toEqual({ ...NOTHING, partition: 2 });
  expect(await daysLeft()).toEqual([dayOf(daysAgo(30)), dayOf(daysAgo(29))]);
  expect(await deliveriesLeft()).toEqual([kept.id]);
  expect(await eventsLeft()).toEqual([kept.key]);
  expect(await attemptsLeft()).toEqual([kept.id]);
});

test("a partition that can't be dropped delays no other, and goes at a later pass", async () => {
  const { prisma } = db.database;
  await makeDays(42, 41, 40);
  await prisma.$transaction(
    async (reader) => {
      await reader.$queryRawUnsafe(`select from delivery_${dayOf(daysAgo(42)).replaceAll("-", "")}`);
      expect((await run()).partition).toBe(2);
    },
    { timeout: 60_000 },
  );
  expect(await daysLeft()).toEqual([dayOf(daysAgo(42))]);
  expect(await registry.metrics()).toContain('herald_task_failures_total{task="retention"} 1');
  expect((await run()).partition).toBe(1);
});

test("several publishers at once drop each partition once, and none fails", async () => {
  await makeDays(44, 43, 42, 41, 40);
  const done = await Promise.all([run(), run(), run()]);
  expect(done.reduce((sum, { partition }) => sum + partition, 0)).toBe(5);
  expect(await daysLeft()).toEqual([]);
});

test("unfinished deliveries expire when they are 30 days old, are counted by endpoint, and go with their partition", async () => {
  const [endpoint, other] = [await insertEndpoint(db.database.prisma), await insertEndpoint(db.database.prisma)];
  await makeDays(41, 40, 30, 29);
  for (let count = 0; count < 25; count++) await eventAndDelivery(endpoint, 41, { state: "pending" });
  await eventAndDelivery(endpoint, 40, { state: "pending" });
  await delivery(other, 40, { state: "pending", body: "{}" });
  const young = await eventAndDelivery(endpoint, 29, { state: "pending" });
  expect(await run()).toEqual({ ...NOTHING, partition: 2, expired: 27 });
  expect(await daysLeft()).toEqual([dayOf(daysAgo(30)), dayOf(daysAgo(29))]);
  expect(await deliveriesLeft()).toEqual([young.id]);
  expect(await stateOf(young.id)).toBe("pending");
  expect(await dueLeft()).toBe(1);
  const recorded = await recordedOf(endpoint);
  expect(await countRecorded(endpoint)).toBe(26);
  const { organizationId, name, url } = endpoint;
  for (const row of recorded) {
    expect(row).toMatchObject({ state: "expired", organizationId, endpointName: name, endpointUrl: url });
  }
  expect(Math.min(...recorded.map(({ firstAt }) => firstAt.getTime()))).toBe(daysAgo(41).getTime());
  expect(Math.max(...recorded.map(({ lastAt }) => lastAt.getTime()))).toBe(daysAgo(40).getTime());
  expect(await recordedOf(other)).toMatchObject([{ deliveries: 1, firstAt: daysAgo(40), lastAt: daysAgo(40) }]);
  expect(await registry.metrics()).toContain("herald_expired_deliveries_total 27");
});

test("an expired delivery stays while its partition has days that are not too old", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDaysBetween(40, 29);
  const old = await eventAndDelivery(endpoint, 31, { state: "pending", attemptCount: 2 });
  const succeeded = await eventAndDelivery(endpoint, 31);
  const young = await eventAndDelivery(endpoint, 29.5, { state: "pending" });
  expect(await run()).toEqual({ ...NOTHING, expired: 1 });
  expect([await stateOf(old.id), await stateOf(succeeded.id), await stateOf(young.id)]).toEqual([
    "expired",
    "succeeded",
    "pending",
  ]);
  expect((await db.database.prisma.due.findMany()).map(({ deliveryId }) => deliveryId)).toEqual([young.id]);
  expect(await run()).toEqual(NOTHING);
  expect(await recordedOf(endpoint)).toMatchObject([{ deliveries: 1 }]);
});

test("each expired delivery is counted once by several publishers at once", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDaysBetween(40, 29);
  for (let count = 0; count < 60; count++) await eventAndDelivery(endpoint, 35, { state: "pending" });
  const done = await Promise.all([run(), run(), run()]);
  expect(done.reduce((sum, { expired }) => sum + expired, 0)).toBe(60);
  expect(await countRecorded(endpoint)).toBe(60);
  expect(await dueLeft()).toBe(0);
});

test("an expired delivery of a deleted endpoint has no notice", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDays(40);
  await eventAndDelivery(endpoint, 40, { state: "pending" });
  await db.database.prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
  expect(await run()).toEqual({ ...NOTHING, partition: 1, expired: 1 });
  expect(await dueLeft()).toBe(0);
  expect(await recordedOf(endpoint)).toEqual([]);
});

test("a due row whose delivery is gone, since a pass missed it, is ended and counted by the next pass", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await db.database.prisma.due.create({
    data: { shard: shardOf(endpoint.id), deliveryId: idAt(daysAgo(40)), endpointId: endpoint.id, dueAt: NOW },
  });
  expect(await run()).toEqual({ ...NOTHING, expired: 1 });
  expect(await dueLeft()).toBe(0);
  expect(await recordedOf(endpoint)).toMatchObject([{ deliveries: 1 }]);
});

test("a delivery that a settlement ends at the same moment is left to the settlement", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await makeDaysBetween(41, 29);
  const { id } = await eventAndDelivery(endpoint, 40, { state: "pending" });
  let expiring: Promise<unknown> | undefined;
  // It is written, but not committed, when the delivery expires.
  await prisma.$transaction(async (settlement) => {
    await settlement.due.deleteMany({ where: { deliveryId: id } });
    await settlement.delivery.update({ where: { id }, data: { state: "succeeded" } });
    expiring = run();
    await eventually(async () => expect(await lockWaiters(prisma)).toBe(1));
  });
  expect(await expiring).toEqual(NOTHING);
  expect(await stateOf(id)).toBe("succeeded");
  expect(await recordedOf(endpoint)).toEqual([]);
});

test("a delivery that a settlement postpones at the same moment expires once, then or at the next pass", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await makeDaysBetween(41, 29);
  const { id } = await eventAndDelivery(endpoint, 40, { state: "pending" });
  let expiring: ReturnType<typeof run> | undefined;
  await prisma.$transaction(async (settlement) => {
    await settlement.due.updateMany({ where: { deliveryId: id }, data: { dueAt: daysAgo(-1) } });
    expiring = run();
    await eventually(async () => expect(await lockWaiters(prisma)).toBe(1));
  });
  const first = await expiring;
  expect((first?.expired ?? 0) + (await run()).expired).toBe(1);
  expect(await stateOf(id)).toBe("expired");
  expect(await recordedOf(endpoint)).toMatchObject([{ deliveries: 1 }]);
});

test("a delivery that can't expire keeps its partition, but not old changes and resends", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDays(40);
  await eventAndDelivery(endpoint, 40, { state: "pending" });
  await insertResend(db.database.prisma, endpoint, { startedAt: daysAgo(40), state: "finished" });
  const queries = beforePages(() => Promise.reject(new Error("a page that fails")));
  expect(await run({ queries })).toEqual({ ...NOTHING, resend: 1 });
  expect(await daysLeft()).toEqual([dayOf(daysAgo(40))]);
  expect(await registry.metrics()).toContain('herald_task_failures_total{task="retention"} 1');
  expect(await run()).toEqual({ ...NOTHING, partition: 1, expired: 1 });
});

test("expiring goes on page by page after a process that was killed: each delivery expires, and is counted once", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDays(40);
  for (let count = 0; count < 30; count++) await eventAndDelivery(endpoint, 40, { state: "pending" });
  let pages = 0;
  // PostgreSQL carries the second page out, and its answer is lost.
  const queries = queriesAround(db.database.queries, "from due", {
    after: () => (++pages === 2 ? Promise.reject(new Error("killed")) : undefined),
  });
  expect(await run({ queries })).toEqual({ ...NOTHING, expired: 10 });
  expect(await run()).toEqual({ ...NOTHING, partition: 1, expired: 10 });
  expect(await countRecorded(endpoint)).toBe(30);
});

test("a stop ends the expiring after the page under way", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDays(40);
  for (let count = 0; count < 30; count++) await delivery(endpoint, 40, { state: "pending" });
  const stopping = new AbortController();
  await run({ signal: stopping.signal, queries: beforePages(() => stopping.abort()) });
  expect(await dueLeft()).toBe(20);
  expect(await daysLeft()).toEqual([dayOf(daysAgo(40))]);
});

test("a page costs by its size, not by the rows that are kept or wait", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await makeDaysBetween(41, 29);
  await db.database.prisma.$executeRaw`
      with stored as (
        insert into delivery (id, endpoint_id, organization_id, event_type, state, created_at)
        select (left(${firstIdAt(daysAgo(40))}::text, 24) || lpad(number::text, 12, '0'))::uuid, ${endpoint.id}::uuid, 'acme',
          'RiskCreated', 'pending', ${daysAgo(40)}
        from generate_series(1, 20000) as number
        returning id
      )
      insert into due (shard, delivery_id, endpoint_id, due_at)
      select shard_of(${endpoint.id}::uuid), id, ${endpoint.id}::uuid, ${daysAgo(40)}::timestamptz + row_number() over () * interval '1 second' from stored`;
  await db.database.prisma.$executeRawUnsafe("analyze delivery, due");
  const page = { after: null, endedBefore: daysAgo(30), pageSize: 100 };
  // Some pages for each row that ends; the tables have some thousand.
  expect(await pagesRead(db.database.queries, (queries) => expireDue(queries, page))).toBeLessThan(2_500);
});

test("old rows outside the history go page by page: changes and resends after 30 days, events that were not taken after their window", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const of = { organizationId: endpoint.organizationId, endpointId: endpoint.id, endpointName: endpoint.name };
  const change = (days: number, revision: number) =>
    ({ ...of, id: idAt(daysAgo(days)), revision, changedAt: daysAgo(days), changedBy: "admin", after: {} }) as const;
  const eventId = "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111";
  const undelivered = (days: number, organizationId: string) =>
    ({
      eventId,
      organizationId,
      cause: "unknown_type",
      type: "RiskCreatd",
      reason: "",
      cameAt: daysAgo(days),
    }) as const;
  for (let index = 0; index < 25; index++) {
    await prisma.endpointChange.create({ data: change(31, index) });
    await prisma.undeliveredEvent.create({ data: undelivered(7.01, `old-${index}`) });
    await insertResend(prisma, endpoint, { startedAt: daysAgo(31), state: "finished" });
  }
  await insertResend(prisma, endpoint, { startedAt: daysAgo(31), state: "running" });
  await prisma.endpointChange.create({ data: change(29, 25) });
  await prisma.undeliveredEvent.create({ data: undelivered(6.99, "young") });
  const kept = await insertResend(prisma, endpoint, { startedAt: daysAgo(29), state: "running" });
  expect(await run()).toEqual({ ...NOTHING, change: 25, resend: 26, undelivered: 25 });
  expect(await prisma.endpointChange.findMany()).toMatchObject([{ revision: 25n }]);
  expect(await prisma.resend.findMany()).toMatchObject([{ id: kept.id }]);
  expect(await prisma.undeliveredEvent.findMany()).toMatchObject([{ organizationId: "young" }]);
});

test("a resend that is moved at the moment of its erasing goes, then or at the next pass", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const { id } = await insertResend(prisma, endpoint, { startedAt: daysAgo(31), state: "running" });
  const other = await insertResend(prisma, endpoint, { startedAt: daysAgo(32), state: "finished" });
  let erasing: ReturnType<typeof run> | undefined;
  await prisma.$transaction(async (page) => {
    await page.resend.update({ where: { id }, data: { dueAt: NOW, cursorId: other.id } });
    erasing = run();
    await eventually(async () => expect(await lockWaiters(prisma)).toBe(1));
  });
  expect(((await erasing)?.resend ?? 0) + (await run()).resend).toBe(2);
  expect(await prisma.resend.count()).toBe(0);
});

test.each([
  [90, 31],
  [30, 30],
  [10, 10],
])("if deliveries are kept for %d days, endpoints' rates go after %d", async (keptDays, days) => {
  const { prisma } = db.database;
  const { id: endpointId } = await insertEndpoint(prisma);
  const young = daysAgo(days);
  const sums = { endpointId, succeeded: 1, failed: 0, durations: [1] };
  const hours = Array.from({ length: 25 }, (_, index) => new Date(young.getTime() - (index + 1) * 3_600_000));
  await prisma.endpointHour.createMany({ data: [young, ...hours].map((hour) => ({ ...sums, hour })) });
  expect(await run({ keptDays })).toMatchObject({ rate: 25 });
  expect(await prisma.endpointHour.findMany()).toMatchObject([{ hour: young }]);
});

describe("the history of deleted endpoints", () => {
  const db = useDatabase();
  const OPTIONS = { pageSize: 10, leaseMs: 2 * MINUTE_MS };

  let clock = steeredClock(ROW_TIME);

  beforeEach(async () => {
    clock = steeredClock(ROW_TIME);
    await db.database.prisma
      .$executeRaw`truncate webhook_endpoint, resend, erasure, delivery, delivery_attempt, due, endpoint_hour`;
  });

  const erase = () => createErasure(taskParts(db.database.queries, clock), OPTIONS)(new AbortController().signal);

  /** Finished deliveries with an earlier attempt each, and unfinished ones. */
  async function insertHistory(endpoint: Endpoint, finished: number, unfinished: number): Promise<void> {
    const { prisma } = db.database;
    for (let index = 0; index < finished + unfinished; index++) {
      const row = index < finished ? ({ state: "succeeded", attemptCount: 2 } as const) : {};
      // Over several days, so that they lie in several partitions.
      const createdAt = new Date(ROW_TIME.getTime() - index * 60 * MINUTE_MS);
      const { id } = await insertDelivery(prisma, endpoint, { createdAt, ...row });
      await prisma.deliveryAttempt.create({
        data: { deliveryId: id, number: 1, startedAt: createdAt, durationMs: 1, statusCode: 500 },
      });
    }
  }

  const insertResends = async (endpoint: Endpoint, count: number): Promise<void> => {
    for (let made = 0; made < count; made++) await insertResend(db.database.prisma, endpoint);
  };

  async function insertChanges({ id, organizationId, name }: Endpoint, count: number): Promise<void> {
    const of = { organizationId, endpointId: id, endpointName: name };
    const change = { ...of, changedAt: ROW_TIME, changedBy: "admin" as const, after: {} };
    const data = Array.from({ length: count }, (_, index) => ({ ...change, id: idAt(ROW_TIME), revision: index + 1 }));
    await db.database.prisma.endpointChange.createMany({ data });
  }

  /** Deletes an endpoint as the API does: what it leaves is erased from now on, and looked at again after 15 minutes. */
  async function deleteEndpoint({ id }: Endpoint): Promise<void> {
    await db.database.prisma.webhookEndpoint.delete({ where: { id } });
    const now = clock.now();
    const until = new Date(now.getTime() + 15 * MINUTE_MS);
    await db.database.prisma.erasure.create({ data: { endpointId: id, dueAt: now, until } });
  }

  async function left({ id }: Endpoint) {
    const where = { endpointId: id };
    return {
      deliveries: await db.database.prisma.delivery.count({ where }),
      due: await db.database.prisma.due.count({ where }),
      changes: await db.database.prisma.endpointChange.count({ where }),
      resends: await db.database.prisma.resend.count({ where }),
      rates: await db.database.prisma.endpointHour.count({ where }),
    };
  }
  const erasureOf = ({ id }: Endpoint) => db.database.prisma.erasure.findUnique({ where: { endpointId: id } });

  test("the history of a deleted endpoint is erased, page by page, and nothing of others", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const other = await insertEndpoint(db.database.prisma, { organizationId: endpoint.organizationId });
    await insertHistory(endpoint, 20, 15);
    await insertHistory(other, 1, 1);
    await insertChanges(endpoint, 50);
    await insertChanges(other, 1);
    await insertResends(endpoint, 15);
    await insertResends(other, 1);
    const sums = { hour: ROW_TIME, succeeded: 1, failed: 0, durations: [1] };
    const hours = [endpoint, other].map(({ id: endpointId }) => ({ endpointId, ...sums }));
    await db.database.prisma.endpointHour.createMany({ data: hours });
    await deleteEndpoint(endpoint);
    await erase();
    // The trail is the organization's, and outlives the endpoint.
    expect(await left(endpoint)).toEqual({ deliveries: 0, due: 0, changes: 50, resends: 0, rates: 0 });
    expect(await left(other)).toEqual({ deliveries: 2, due: 1, changes: 1, resends: 1, rates: 1 });
    expect(await db.database.prisma.deliveryAttempt.count()).toBe(2);
  });

  test("deliveries that a fan-out adds after the endpoint was deleted go with a last look 15 minutes later, and then the erasure too", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await insertHistory(endpoint, 2, 2);
    await deleteEndpoint(endpoint);
    await erase();
    expect(await erasureOf(endpoint)).toMatchObject({ dueAt: new Date(ROW_TIME.getTime() + 15 * MINUTE_MS) });
    await insertHistory(endpoint, 0, 3);
    clock.advance(14 * MINUTE_MS);
    await erase();
    expect(await left(endpoint)).toEqual({ deliveries: 3, due: 3, changes: 0, resends: 0, rates: 0 });
    clock.advance(MINUTE_MS);
    await erase();
    expect(await left(endpoint)).toEqual({ deliveries: 0, due: 0, changes: 0, resends: 0, rates: 0 });
    expect(await erasureOf(endpoint)).toBeNull();
  });

  test("regression: the history of an endpoint that was deleted before PostgreSQL's clock was set back by an hour is erased", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await insertHistory(endpoint, 2, 0);
    await deleteEndpoint(endpoint);
    clock.set(new Date(ROW_TIME.getTime() - 60 * MINUTE_MS));
    await erase();
    expect([(await left(endpoint)).deliveries, await erasureOf(endpoint)]).toEqual([0, null]);
  });
});
