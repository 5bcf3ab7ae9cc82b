import type { Prisma } from "@herald/common/database/generated/client";
import { deliveryId, firstIdAt } from "@herald/common/database/ids";
import { Registry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/dev/harness/eventually";
import { lockWaiters } from "@herald/dev/harness/lock-waiters";
import { pagesRead } from "@herald/dev/harness/plans";
import { idAt, insertDelivery, insertEndpoint, insertEvent, insertResend } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { createMetrics } from "../src/metrics.ts";
import { dayOf } from "../src/partitions/days.ts";
import { eraseOld } from "../src/retention.ts";
import { eraseRestOfDeliveries, eraseRestOfEvents } from "../src/sql/erase-rest.ts";
import { makePartitions, readPartitions } from "../src/sql/partitions.ts";
import { queriesAround } from "./queries-around.ts";

const db = useDatabase();
const log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };
const DAY_MS = 24 * 60 * 60_000;
const NOW = new Date("2026-06-01T00:00:00.000Z");
const clock = steeredClock(NOW);
const daysAgo = (days: number) => new Date(NOW.getTime() - days * DAY_MS);
const TABLES = ["business_event", "delivery", "delivery_attempt"];

type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

beforeEach(async () => {
  for (const day of await daysLeft()) {
    for (const table of TABLES) {
      await db.database.prisma.$executeRawUnsafe(`drop table ${table}_${day.replaceAll("-", "")}`);
    }
  }
  await db.database.prisma.$executeRaw`truncate webhook_endpoint, business_event, delivery, delivery_attempt, due`;
});

let registry = new Registry();

function run({ signal = new AbortController().signal, queries = db.database.queries } = {}) {
  registry = new Registry();
  return eraseOld(
    { queries, clock, metrics: createMetrics(registry), log },
    { keepMs: 30 * DAY_MS, pageSize: 10 },
    signal,
  );
}

/** The pages of the rows that no day's partition has. */
const beforePages = (before: () => unknown) => queriesAround(db.database.queries, "delivery_attempt_rest", { before });

const daysLeft = () => readPartitions(db.database.queries);
const makeDays = async (...days: number[]) => {
  for (const day of days) await makePartitions(db.database.queries, dayOf(daysAgo(day)));
};

/** A delivery of so many days ago with one earlier attempt: finished, and attempted then, unless said otherwise. */
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

/** An event of so many days ago, and its delivery. */
async function eventAndDelivery(
  endpoint: Endpoint,
  days: number,
  row: Partial<Prisma.DeliveryUncheckedCreateInput> = {},
) {
  const { key } = await insertEvent(db.database.prisma, endpoint.organizationId, { occurredAt: daysAgo(days) });
  const id = await delivery(endpoint, days, { id: deliveryId(key, endpoint.id), eventKey: key, body: null, ...row });
  return { key, id };
}

const deliveriesLeft = async () => (await db.database.prisma.delivery.findMany()).map(({ id }) => id).sort();
const eventsLeft = async () => (await db.database.prisma.businessEvent.findMany()).map(({ key }) => key).sort();
const attemptsLeft = async () =>
  (await db.database.prisma.deliveryAttempt.findMany()).map(({ deliveryId }) => deliveryId).sort();

describe("days", () => {
  test("days go whole when they have been over for 30 days", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await makeDays(400, 31, 30, 29);
    await eventAndDelivery(endpoint, 400);
    await eventAndDelivery(endpoint, 31, { state: "exhausted" });
    const kept = await eventAndDelivery(endpoint, 30);
    expect(await run()).toEqual({ day: 2, delivery: 0, event: 0, change: 0, resend: 0 });
    expect(await daysLeft()).toEqual([dayOf(daysAgo(30)), dayOf(daysAgo(29))]);
    expect(await deliveriesLeft()).toEqual([kept.id]);
    expect(await eventsLeft()).toEqual([kept.key]);
    expect(await attemptsLeft()).toEqual([kept.id]);
  });

  test("what is unfinished of a day that goes stays, with its attempts and its event", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await makeDays(40);
    const kept = await eventAndDelivery(endpoint, 40, { state: "pending" });
    const manual = await delivery(endpoint, 40, { state: "pending", body: "{}" });
    await eventAndDelivery(endpoint, 40);
    const rows = await db.database.prisma.delivery.findMany({ where: { state: "pending" }, orderBy: { id: "asc" } });
    expect((await run()).day).toBe(1);
    expect(await db.database.prisma.delivery.findMany({ orderBy: { id: "asc" } })).toEqual(rows);
    expect(await eventsLeft()).toEqual([kept.key]);
    expect(await attemptsLeft()).toEqual([kept.id, manual].sort());
    expect(await db.database.prisma.due.count()).toBe(2);
  });

  test("an event with several unfinished deliveries stays once", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const other = await insertEndpoint(db.database.prisma, { organizationId: endpoint.organizationId });
    await makeDays(40);
    const { key } = await eventAndDelivery(endpoint, 40, { state: "pending" });
    await delivery(other, 40, { id: deliveryId(key, other.id), eventKey: key, body: null, state: "pending" });
    expect((await run()).day).toBe(1);
    expect(await eventsLeft()).toEqual([key]);
    expect(await deliveriesLeft()).toHaveLength(2);
  });

  test("a result that is settled while its day is dropped is not lost", async () => {
    const { prisma, queries } = db.database;
    const endpoint = await insertEndpoint(prisma);
    await makeDays(40);
    const { id } = await eventAndDelivery(endpoint, 40, { state: "pending" });
    let dropping: Promise<unknown> | undefined;
    // It is written, but not committed, when the dropping begins.
    await prisma.$transaction(async (settlement) => {
      await settlement.delivery.update({ where: { id }, data: { attemptCount: 3, statusCode: 503 } });
      dropping = run();
      await eventually(async () => expect(await lockWaiters(prisma)).toBe(1));
    });
    expect(await dropping).toMatchObject({ day: 1 });
    expect(await prisma.delivery.findUnique({ where: { id } })).toMatchObject({ attemptCount: 3, statusCode: 503 });
    // And a settlement that comes after it finds the delivery where it is now.
    const changed = await queries.$executeRaw`update delivery set attempt_count = 4 where id = ${id}::uuid`;
    expect(changed).toBe(1);
  });

  test("a day with too many unfinished deliveries is kept whole, and told", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await makeDays(41, 40);
    await db.database.prisma.$executeRaw`
      insert into due (delivery_id, endpoint_id, due_at)
      select (substr(${firstIdAt(daysAgo(40))}::text, 1, 24) || lpad(number::text, 12, '0'))::uuid, ${endpoint.id}::uuid, ${NOW}
      from generate_series(1, 2001) as number`;
    expect((await run()).day).toBe(1);
    expect(await daysLeft()).toEqual([dayOf(daysAgo(40))]);
    expect(await registry.metrics()).toContain("herald_partitions_held 1");
    await db.database.prisma.$executeRaw`
      delete from due where delivery_id = (select delivery_id from due limit 1)`;
    expect((await run()).day).toBe(1);
    expect(await registry.metrics()).toContain("herald_partitions_held 0");
  });

  test("a day that can't be dropped stops neither the days behind it nor the rest, and goes at a later pass", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    await makeDays(42, 41, 40);
    await delivery(endpoint, 60);
    await prisma.$transaction(
      async (reader) => {
        await reader.$queryRawUnsafe(`select from delivery_${dayOf(daysAgo(42)).replaceAll("-", "")}`);
        expect(await run()).toEqual({ day: 2, delivery: 1, event: 0, change: 0, resend: 0 });
      },
      { timeout: 60_000 },
    );
    expect(await daysLeft()).toEqual([dayOf(daysAgo(42))]);
    expect(await registry.metrics()).toContain('herald_task_failures_total{task="retention"} 1');
    expect((await run()).day).toBe(1);
  });

  test("several publishers at once drop each day once, and none fails", async () => {
    await makeDays(44, 43, 42, 41, 40);
    await Promise.all([run(), run(), run()]);
    expect(await daysLeft()).toEqual([]);
  });
});

test("changes of endpoints go when they are 30 days old, page by page", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const change = (revision: number, days: number) => ({
    id: idAt(daysAgo(days)),
    organizationId: endpoint.organizationId,
    endpointId: endpoint.id,
    endpointName: endpoint.name,
    revision,
    changedAt: daysAgo(days),
    changedBy: "admin" as const,
    after: {},
  });
  const old = Array.from({ length: 25 }, (_, index) => change(index, 31));
  await db.database.prisma.endpointChange.createMany({ data: [...old, change(25, 29)] });
  expect((await run()).change).toBe(25);
  expect(await db.database.prisma.endpointChange.findMany({ select: { revision: true } })).toEqual([{ revision: 25n }]);
});

test("resends that have ended go when they are 30 days old, page by page", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const resend = (days: number, state: "finished" | "running") =>
    insertResend(db.database.prisma, endpoint, { startedAt: daysAgo(days), state });
  for (let count = 0; count < 25; count++) await resend(31, "finished");
  const kept = [await resend(31, "running"), await resend(29, "finished")];
  expect((await run()).resend).toBe(25);
  const left = await db.database.prisma.resend.findMany({ select: { id: true } });
  expect(left.map(({ id }) => id).sort()).toEqual(kept.map(({ id }) => id).sort());
});

describe("the rest", () => {
  test("deliveries without a day go with their attempts when they have been finished for 30 days", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await delivery(endpoint, 31);
    await delivery(endpoint, 400, { state: "exhausted" });
    const young = await delivery(endpoint, 29);
    expect(await run()).toEqual({ day: 0, delivery: 2, event: 0, change: 0, resend: 0 });
    expect(await deliveriesLeft()).toEqual([young]);
    expect(await attemptsLeft()).toEqual([young]);
  });

  test("unfinished deliveries stay, however old they are, and hide no finished one", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const kept: string[] = [];
    for (let index = 0; index < 25; index++) kept.push(await delivery(endpoint, 200, { state: "pending" }));
    for (let index = 0; index < 15; index++) await delivery(endpoint, 100);
    expect((await run()).delivery).toBe(15);
    expect(await deliveriesLeft()).toEqual(kept.sort());
  });

  test("deliveries that outlived their day stay until their end is old", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const id = await delivery(endpoint, 90, { attemptedAt: daysAgo(2) });
    expect((await run()).delivery).toBe(0);
    expect(await deliveriesLeft()).toEqual([id]);
  });

  test("old events go, of every organization", async () => {
    const kept: string[] = [];
    const event = async (organizationId: string, days: number) =>
      (await insertEvent(db.database.prisma, organizationId, { occurredAt: daysAgo(days) })).key;
    for (const organizationId of ["a", "b", "c", "d"]) {
      for (let index = 0; index < 12; index++) await event(organizationId, 31);
      kept.push(await event(organizationId, 29));
    }
    await event("e", 40);
    expect(await run()).toEqual({ day: 0, delivery: 0, event: 49, change: 0, resend: 0 });
    expect(await eventsLeft()).toEqual(kept.sort());
  });

  test("events stay while a delivery needs their body, and go with the last one", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const needed = await eventAndDelivery(endpoint, 60, { state: "pending" });
    const shown = await eventAndDelivery(endpoint, 60, { attemptedAt: daysAgo(1) });
    await eventAndDelivery(endpoint, 60);
    expect(await run()).toEqual({ day: 0, delivery: 1, event: 1, change: 0, resend: 0 });
    expect(await eventsLeft()).toEqual([needed.key, shown.key].sort());
  });

  test("several publishers at once erase everything old once", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    for (let index = 0; index < 60; index++) await eventAndDelivery(endpoint, 60);
    const results = await Promise.all([run(), run(), run()]);
    expect(results.reduce((sum, { delivery }) => sum + delivery, 0)).toBe(60);
    // A publisher whose pass over the deliveries is behind may leave an event to its next pass.
    await run();
    expect(await deliveriesLeft()).toEqual([]);
    expect(await eventsLeft()).toEqual([]);
  });

  test("deliveries that can't be erased keep no event that is old", async () => {
    await insertEvent(db.database.prisma, "a", { occurredAt: daysAgo(60) });
    const queries = beforePages(() => Promise.reject(new Error("a page that fails")));
    expect(await run({ queries })).toEqual({ day: 0, delivery: 0, event: 1, change: 0, resend: 0 });
    expect(await registry.metrics()).toContain('herald_task_failures_total{task="retention"} 1');
  });

  test("a stop ends the erasing after the step under way", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    for (let index = 0; index < 30; index++) await delivery(endpoint, 60);
    const stopping = new AbortController();
    await run({ signal: stopping.signal, queries: beforePages(() => stopping.abort()) });
    expect(await deliveriesLeft()).toHaveLength(20);
  });
});

describe("costs", () => {
  async function fill() {
    const endpoint = await insertEndpoint(db.database.prisma);
    await db.database.prisma.$executeRaw`
      with event as (
        insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
        select organization_id, event_key(organization_id, id, at), id, 'RiskCreated', id, at, at, '{}'
        from generate_series(1, 20000) as number
        cross join lateral (
          select case when number % 10 = 0 then 'small' else 'big' end as organization_id, gen_random_uuid() as id,
            ${NOW}::timestamptz - number * interval '1 minute' as at
        ) as made
        returning organization_id, key, occurred_at
      ), stored as (
        insert into delivery (id, endpoint_id, organization_id, event_key, event_type, state, attempt_count, attempted_at, created_at)
        select delivery_id(key, ${endpoint.id}::uuid), ${endpoint.id}::uuid, organization_id, key, 'RiskCreated', 'succeeded', 2,
          occurred_at, occurred_at
        from event
        returning id, created_at
      )
      insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code)
      select id, 1, created_at, 1, 500 from stored`;
    await db.database.prisma.$executeRawUnsafe("analyze delivery, delivery_attempt, business_event, due");
  }

  test("each statement of the retention costs by its page, not by what is kept", async () => {
    await fill();
    // 20,000 minutes are 13.9 days: a tenth of it is older than 12.5.
    const page = { after: null, endedBefore: daysAgo(12.5), pageSize: 100 };
    for (const erase of [eraseRestOfDeliveries, eraseRestOfEvents]) {
      // Some pages for each row that is erased, and for each that it leads to; the tables have some thousand.
      expect(await pagesRead(db.database.queries, (queries) => erase(queries, page))).toBeLessThan(2_500);
    }
  });
});
