import { randomUUID } from "node:crypto";
import { firstIdAt } from "@herald/common/database/ids";
import { Registry } from "@herald/common/telemetry/metrics";
import { idAt, insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { createMetrics } from "../src/metrics.ts";
import { DAY_MS, dayOf, startOf } from "../src/partitions/days.ts";
import { makeAhead } from "../src/partitions/make-ahead.ts";
import { makePartitions, readPartitions } from "../src/sql/partitions.ts";

const db = useDatabase();
const log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };
const OPTIONS = { windowMs: 7 * DAY_MS };
const noSignal = new AbortController().signal;
const TABLES = ["business_event", "delivery", "delivery_attempt"];
// PostgreSQL's clock can't be steered, so the tests are of today.
const today = dayOf(new Date());
const daysFromToday = (days: number) => new Date(startOf(today).getTime() + days * DAY_MS);

beforeEach(async () => {
  const days = await readPartitions(db.database.queries);
  for (const day of days) {
    for (const table of TABLES) {
      await db.database.prisma.$executeRawUnsafe(`drop table ${table}_${day.replaceAll("-", "")}`);
    }
  }
  await db.database.prisma.$executeRaw`truncate webhook_endpoint, business_event, delivery, delivery_attempt, due`;
});

function run(clock = steeredClock(new Date()), signal = noSignal) {
  const parts = { queries: db.database.queries, clock, metrics: createMetrics(new Registry()), log };
  return makeAhead(parts, OPTIONS, signal);
}
const daysMade = () => readPartitions(db.database.queries);

/** The table that a row lies in. */
async function placeOf(table: string, column: string, id: string): Promise<string | undefined> {
  const [row] = await db.database.prisma.$queryRawUnsafe<{ place: string }[]>(
    `select tableoid::regclass::text as place from ${table} where ${column} = '${id}'`,
  );
  return row?.place;
}

test("days have partitions from a day before the window to eight days ahead", async () => {
  await run();
  const days = await daysMade();
  expect(days).toHaveLength(17);
  expect([days[0], days.at(-1)]).toEqual([dayOf(daysFromToday(-8)), dayOf(daysFromToday(8))]);
  for (const table of TABLES) {
    const [made] = await db.database.prisma.$queryRaw<{ count: number }[]>`
      select count(*)::int as "count" from pg_inherits where inhparent = ${table}::text::regclass`;
    expect(made).toEqual({ count: 18 });
  }
});

test("a row lies in the partition of its id's day in UTC, and its delivery has room on the page", async () => {
  await run();
  const endpoint = await insertEndpoint(db.database.prisma);
  const suffix = today.replaceAll("-", "");
  for (const time of [daysFromToday(0), new Date(daysFromToday(1).getTime() - 1)]) {
    const delivery = await insertDelivery(db.database.prisma, endpoint, { createdAt: time });
    const event = await insertEvent(db.database.prisma, endpoint.organizationId, { occurredAt: time });
    expect(await placeOf("delivery", "id", delivery.id)).toBe(`delivery_${suffix}`);
    expect(await placeOf("business_event", "key", event.key)).toBe(`business_event_${suffix}`);
  }
  const [table] = await db.database.prisma.$queryRawUnsafe<{ reloptions: string[] }[]>(
    `select reloptions from pg_class where relname = 'delivery_${suffix}'`,
  );
  expect(table).toEqual({ reloptions: ["fillfactor=50"] });
});

test("partitions have the indexes of their tables, and no others", async () => {
  await run();
  const [row] = await db.database.prisma.$queryRaw<{ alone: number; indexes: number }[]>`
    select
      count(*) filter (where not exists (select from pg_inherits where inhrelid = indexrelid))::int as "alone",
      count(*)::int as "indexes"
    from pg_index join pg_class on pg_class.oid = indrelid where relname ~ '_[0-9]{8}$'`;
  // Three of the events, three of the deliveries, one of the attempts.
  expect(row).toEqual({ alone: 0, indexes: 17 * 7 });
});

test("what waited in the rest moves into its day when that is made, also after a publisher slept for a week", async () => {
  const { prisma } = db.database;
  await run(steeredClock(daysFromToday(-7)));
  expect(await daysMade()).toContain(today);
  const endpoint = await insertEndpoint(prisma);
  const createdAt = daysFromToday(5);
  const delivery = await insertDelivery(prisma, endpoint, { createdAt });
  await prisma.deliveryAttempt.create({
    data: { deliveryId: delivery.id, number: 1, startedAt: createdAt, durationMs: 1, statusCode: 500 },
  });
  const event = await insertEvent(prisma, endpoint.organizationId, { occurredAt: createdAt });
  expect(await placeOf("delivery", "id", delivery.id)).toBe("delivery_rest");
  await run();
  const suffix = dayOf(createdAt).replaceAll("-", "");
  expect(await placeOf("delivery", "id", delivery.id)).toBe(`delivery_${suffix}`);
  expect(await placeOf("delivery_attempt", "delivery_id", delivery.id)).toBe(`delivery_attempt_${suffix}`);
  expect(await placeOf("business_event", "key", event.key)).toBe(`business_event_${suffix}`);
  expect(await prisma.delivery.findMany()).toEqual([delivery]);
  expect(await prisma.businessEvent.findMany()).toEqual([event]);
});

test("several publishers at once make each day once, and none fails", async () => {
  await Promise.all([run(), run(), run()]);
  expect(await daysMade()).toHaveLength(17);
});

test("rows of a day that is far ahead have no partition of their own, and are stored all the same", async () => {
  const createdAt = new Date("2099-06-01T00:00:00Z");
  const { id } = await insertDelivery(db.database.prisma, await insertEndpoint(db.database.prisma), { createdAt });
  expect(await placeOf("delivery", "id", id)).toBe("delivery_rest");
});

test("while somebody reads the tables in a long transaction no day is made, nobody waits, and rows are stored", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await prisma.$transaction(async (backup) => {
    await backup.$queryRaw`select count(*)::int from delivery`;
    await expect(makePartitions(queries, today)).rejects.toMatchObject({ code: "55P03" });
    const giveUp = new AbortController();
    const pass = run(steeredClock(new Date()), giveUp.signal);
    await insertDelivery(prisma, endpoint, { createdAt: new Date() });
    giveUp.abort();
    await pass;
    expect(await daysMade()).toEqual([]);
  });
  await run();
  expect(await daysMade()).toHaveLength(17);
  const [delivery] = await prisma.delivery.findMany();
  expect(await placeOf("delivery", "id", delivery?.id ?? randomUUID())).toMatch(/_\d{8}$/);
});

test("the first id of a day is where its partition begins", async () => {
  await run();
  const [bound] = await db.database.prisma.$queryRawUnsafe<{ bound: string }[]>(
    `select pg_get_expr(relpartbound, oid) as bound from pg_class where relname = 'delivery_${today.replaceAll("-", "")}'`,
  );
  expect(bound?.bound).toBe(`FOR VALUES FROM ('${firstIdAt(daysFromToday(0))}') TO ('${firstIdAt(daysFromToday(1))}')`);
  expect(idAt(daysFromToday(1)) > firstIdAt(daysFromToday(1))).toBe(true);
});
