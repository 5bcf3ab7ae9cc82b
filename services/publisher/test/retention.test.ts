import { randomUUID } from "node:crypto";
import { firstIdAt } from "@herald/common/database/first-id-at";
import type { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/testkit/harness/rows";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { eraseOld } from "../src/retention/erase-old.ts";
import { eraseDeliveries } from "../src/sql/erase-deliveries.ts";
import { eraseEvents } from "../src/sql/erase-events.ts";
import { findOrganizations } from "../src/sql/find-organizations.ts";

const db = useDatabase();
const log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };
const DAY_MS = 24 * 60 * 60_000;
const NOW = new Date("2026-06-01T00:00:00.000Z");
const clock = steeredClock(NOW);
const daysAgo = (days: number) => new Date(NOW.getTime() - days * DAY_MS);
const ZERO_UUID = "00000000-0000-0000-0000-000000000000";

type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

beforeEach(async () => {
  await db.database.prisma.webhookEndpoint.deleteMany();
  await db.database.prisma.businessEvent.deleteMany();
});

function run(pageSize = 10, signal = new AbortController().signal) {
  const options = { keepDeliveriesMs: 30 * DAY_MS, keepEventsMs: 30 * DAY_MS, pageSize };
  return eraseOld({ queries: db.database.queries, clock, log }, options, { onErased: () => {}, signal });
}

/** A UUIDv7 as PostgreSQL makes them. */
const idAt = (time: Date) => `${firstIdAt(time).slice(0, 19)}${randomUUID().slice(19)}`;

async function delivery(endpoint: Endpoint, madeAt: Date, row: Partial<Prisma.DeliveryUncheckedCreateInput> = {}) {
  const made = await insertDelivery(db.database.prisma, endpoint, {
    id: idAt(madeAt),
    createdAt: madeAt,
    state: "succeeded",
    attemptCount: 1,
    attemptedAt: madeAt,
    nextAttemptAt: null,
    ...row,
  });
  await db.database.prisma.deliveryAttempt.create({
    data: { deliveryId: made.id, number: 1, startedAt: madeAt, durationMs: 1, statusCode: 200 },
  });
  return made.id;
}

const deliveriesLeft = async () => (await db.database.prisma.delivery.findMany()).map(({ id }) => id).sort();
const eventsLeft = async () => (await db.database.prisma.businessEvent.findMany()).map(({ id }) => id).sort();

describe("deliveries", () => {
  test("go with their attempts when they have been finished for 30 days", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await delivery(endpoint, daysAgo(31));
    await delivery(endpoint, daysAgo(400), { state: "exhausted", attemptCount: 5 });
    const young = await delivery(endpoint, daysAgo(29));
    expect(await run()).toEqual({ deliveries: 2, events: 0 });
    expect(await deliveriesLeft()).toEqual([young]);
    expect(await db.database.prisma.deliveryAttempt.count()).toBe(1);
  });

  test("stay while they are unfinished, however old, and hide no other's end", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const kept: string[] = [];
    for (let index = 0; index < 25; index++) {
      kept.push(await delivery(endpoint, daysAgo(200), { state: index % 2 ? "parked" : "pending" }));
    }
    for (let index = 0; index < 15; index++) await delivery(endpoint, daysAgo(100));
    expect((await run()).deliveries).toBe(15);
    expect(await deliveriesLeft()).toEqual(kept.sort());
  });

  test("that were made long ago and ended lately stay until their end is old", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const id = await delivery(endpoint, daysAgo(90), { attemptedAt: daysAgo(2) });
    expect((await run()).deliveries).toBe(0);
    expect(await deliveriesLeft()).toEqual([id]);
  });
});

describe("events", () => {
  async function event(organizationId: string, days: number) {
    return (await insertEvent(db.database.prisma, organizationId, { occurredAt: daysAgo(days) })).id;
  }

  test("go when they are old, whichever organization's they are", async () => {
    const kept: string[] = [];
    for (const organizationId of ["a", "b", "c", "d"]) {
      for (let index = 0; index < 12; index++) await event(organizationId, 31);
      kept.push(await event(organizationId, 29));
    }
    await event("e", 40);
    expect(await run()).toEqual({ deliveries: 0, events: 49 });
    expect(await eventsLeft()).toEqual(kept.sort());
  });

  test("stay while a delivery needs their body, and go with the last one", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { organizationId } = endpoint;
    const needed = await event(organizationId, 60);
    const shown = await event(organizationId, 60);
    const done = await event(organizationId, 60);
    await delivery(endpoint, daysAgo(60), { businessEventId: needed, body: null, state: "parked" });
    await delivery(endpoint, daysAgo(60), { businessEventId: shown, body: null, attemptedAt: daysAgo(1) });
    await delivery(endpoint, daysAgo(60), { businessEventId: done, body: null });
    expect(await run()).toEqual({ deliveries: 1, events: 1 });
    expect(await eventsLeft()).toEqual([needed, shown].sort());
  });

  test("of an organization whose endpoints are all gone go too", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const old = await event(endpoint.organizationId, 60);
    await delivery(endpoint, daysAgo(60), { businessEventId: old, body: null, state: "parked" });
    await db.database.prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
    expect((await run()).events).toBe(1);
  });
});

test("several publishers at once erase everything old once", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  for (let index = 0; index < 60; index++) await delivery(endpoint, daysAgo(60));
  for (let index = 0; index < 60; index++) {
    await insertEvent(db.database.prisma, endpoint.organizationId, { occurredAt: daysAgo(60) });
  }
  const results = await Promise.all([run(), run(), run()]);
  expect(results.reduce((sum, { deliveries }) => sum + deliveries, 0)).toBe(60);
  expect(results.reduce((sum, { events }) => sum + events, 0)).toBe(60);
  expect(await deliveriesLeft()).toEqual([]);
  expect(await eventsLeft()).toEqual([]);
});

test("a stop ends it after the step under way", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  for (let index = 0; index < 30; index++) await delivery(endpoint, daysAgo(60));
  const stopping = new AbortController();
  const options = { keepDeliveriesMs: 30 * DAY_MS, keepEventsMs: 30 * DAY_MS, pageSize: 10 };
  const parts = { queries: db.database.queries, clock, log };
  await eraseOld(parts, options, { onErased: () => stopping.abort(), signal: stopping.signal });
  expect(await deliveriesLeft()).toHaveLength(20);
});

describe("costs by what is old, not by what is kept", () => {
  type Cost = Record<"business_event" | "delivery" | "delivery_attempt", { scans: number; rows: number }>;

  /** What PostgreSQL counted for this connection: scans of whole tables, and rows that it read by an index. */
  async function counted(queries: Queries): Promise<Cost> {
    const rows = await queries.$queryRaw<{ table: keyof Cost; scans: number; rows: number }[]>`
      select relname::text as "table", seq_scan::int as "scans", coalesce(idx_tup_fetch, 0)::int as "rows"
      from pg_stat_xact_user_tables
      where relname in ('business_event', 'delivery', 'delivery_attempt')`;
    return Object.fromEntries(rows.map(({ table, ...cost }) => [table, cost])) as Cost;
  }

  /** What a statement costs, planned for its own values, and planned for any. */
  async function costOf(call: (queries: Queries) => Promise<unknown>): Promise<Cost> {
    return await db.database.prisma.$transaction(async (transaction) => {
      const before = await counted(transaction);
      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        await transaction.$executeRawUnsafe(`set local plan_cache_mode = ${mode}`);
        await call(transaction);
      }
      const cost = await counted(transaction);
      for (const [table, { scans, rows }] of Object.entries(before)) {
        cost[table as keyof Cost].scans -= scans;
        cost[table as keyof Cost].rows -= rows;
      }
      return cost;
    });
  }

  async function fill() {
    const endpoint = await insertEndpoint(db.database.prisma);
    await db.database.prisma.$executeRaw`
      insert into delivery (id, endpoint_id, organization_id, event_type, state, attempted_at, created_at)
      select uuidv7(at - clock_timestamp()), ${endpoint.id}::uuid, 'big', 'RiskCreated', 'succeeded', at, at
      from generate_series(1, 20000) as number,
        lateral (select ${NOW}::timestamptz - number * interval '1 minute' as at) as time`;
    await db.database.prisma.$executeRawUnsafe("analyze delivery");
    await db.database.prisma.$executeRaw`
      insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code)
      select id, 1, created_at, 1, 200 from delivery`;
    await db.database.prisma.$executeRaw`
      insert into business_event (organization_id, id, type, occurred_at, received_at, body)
      select case when number % 10 = 0 then 'small' else 'big' end, gen_random_uuid(), 'RiskCreated', at, at, '{}'
      from generate_series(1, 20000) as number,
        lateral (select ${NOW}::timestamptz - number * interval '1 minute' as at) as time`;
    await db.database.prisma.$executeRawUnsafe("analyze delivery_attempt, business_event, webhook_endpoint");
  }

  test("a look at the organizations, and one page of each", async () => {
    await fill();
    // 20,000 minutes are 13.9 days: a tenth of it is older than 12.5.
    const old = daysAgo(12.5);
    const organizations = await costOf((queries) =>
      findOrganizations(queries, { after: "", occurredBefore: old, limit: 100 }),
    );
    expect(organizations.business_event.scans).toBe(0);
    expect(organizations.business_event.rows).toBeLessThanOrEqual(2 * 20);

    const deliveries = await costOf((queries) =>
      eraseDeliveries(queries, { after: ZERO_UUID, before: firstIdAt(old), endedBefore: old, pageSize: 100 }),
    );
    expect(deliveries.delivery.scans).toBe(0);
    expect(deliveries.delivery.rows).toBeLessThanOrEqual(2 * 500);
    expect(deliveries.delivery_attempt.scans).toBe(0);

    const events = await costOf((queries) =>
      eraseEvents(queries, { organizationId: "big", after: null, occurredBefore: old, pageSize: 100 }),
    );
    expect(events.business_event.scans).toBe(0);
    expect(events.business_event.rows).toBeLessThanOrEqual(2 * 500);
  });
});
