import { randomUUID } from "node:crypto";
import { connectBroker } from "@herald/common/broker/broker";
import { names as namesOf } from "@herald/common/broker/topology";
import { firstIdAt } from "@herald/common/database/ids";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import { shardOf } from "@herald/common/database/shards";
import { Registry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { lockWaiters, useDatabase } from "@herald/dev/harness/use-database";
import { beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { exportLag } from "../src/lag-metrics.ts";
import { makePartitions } from "../src/sql/partitions.ts";
import { DAY_MS, dayOf } from "../src/tasks/partitions.ts";
import { SILENT, taskParts } from "./given.ts";

// One connection, so that what it counted is what is asked for.
const db = useDatabase({ poolSize: 1, partitioned: false });
const place = useBroker();
const names = namesOf(place.namespace);
const clock = steeredClock(new Date(ROW_TIME.getTime() + 90_000));
const ENDPOINT_CONCURRENCY = 4;

// So there is no day ahead.
beforeAll(() => makePartitions(db.database.queries, { first: "1970-01-01", end: dayAt(1) }));

/** The day of the clock, or `days` later. */
const dayAt = (days: number) => dayOf(new Date(clock.now().getTime() + days * DAY_MS));

/** By how much the process's monotonic clock is ahead: scrapes far apart share no reading. */
let aheadMs = 0;
const { now } = performance;
jest.spyOn(performance, "now").mockImplementation(() => now.call(performance) + aheadMs);

/** Exports until `close`; each `scrape` is ten seconds after the one before, and answers the series and their values. */
async function exporting({ queries, probes }: Pick<Database, "queries" | "probes">, amqpUrl: string, log = SILENT) {
  const broker = connectBroker({ url: amqpUrl, namespace: place.namespace, name: "lag test", log: SILENT });
  const registry = new Registry();
  const inspector = broker.inspector();
  if (amqpUrl === place.url) await broker.ready();
  const parts = { ...taskParts(queries, clock), log, probes, inspector, names };
  exportLag(registry, parts, { endpointConcurrency: ENDPOINT_CONCURRENCY });
  return {
    async scrape(): Promise<Record<string, number>> {
      aheadMs += 10_000;
      const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("herald_"));
      return Object.fromEntries(lines.map((line) => [line.split(" ")[0], Number(line.split(" ")[1])]));
    },
    close: () => broker.close(),
  };
}

async function scrape(of: Database, amqpUrl = place.url): Promise<Record<string, number>> {
  const exporter = await exporting(of, amqpUrl);
  return await exporter.scrape().finally(exporter.close);
}

const FAR = new Date("2100-01-01T00:00:00.000Z");

/** Only these shards belong to a dispatcher, which is alive. */
async function own(shards: readonly number[]): Promise<void> {
  const { prisma } = db.database;
  await prisma.process.deleteMany();
  await prisma.shard.updateMany({ data: { owner: null, stoppedAt: null } });
  const { id } = await prisma.process.create({
    data: { id: randomUUID(), service: "dispatcher", able: true, aliveUntil: FAR },
  });
  await prisma.shard.updateMany({ where: { id: { in: [...shards] } }, data: { owner: id } });
}

test("the metrics show what is due and since when, what waits, and what waits with a disabled endpoint", async () => {
  const { prisma } = db.database;
  const enabled = await insertEndpoint(prisma);
  const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "failures" });
  const later = { dueAt: new Date(clock.now().getTime() + 1) };
  await insertEndpoint(prisma, { quarantinedAt: ROW_TIME });
  await insertDelivery(prisma, enabled);
  await insertDelivery(prisma, enabled, { due: later });
  await insertDelivery(prisma, enabled, { state: "exhausted" });
  await insertDelivery(prisma, disabled, { due: { dueAt: new Date(ROW_TIME.getTime() - 60_000) } });
  await insertDelivery(prisma, disabled, { due: later });
  // A row of a deleted endpoint: its rows are being erased.
  const deleted = randomUUID();
  await prisma.due.create({
    data: { shard: shardOf(deleted), deliveryId: randomUUID(), endpointId: deleted, dueAt: ROW_TIME },
  });
  await own([...Array(254).keys()]);
  await prisma.shard.update({ where: { id: 255 }, data: { stoppedAt: ROW_TIME } });
  await prisma.catchUp.create({ data: { endpointId: enabled.id, dueAt: ROW_TIME } });
  await prisma.catchUp.create({ data: { endpointId: disabled.id, priority: 1, dueAt: ROW_TIME } });
  const { herald_oldest_transaction_age_seconds: oldestTransaction, ...metrics } = await scrape(db.database);
  expect(oldestTransaction).toBeGreaterThanOrEqual(0);
  expect(metrics).toEqual({
    'herald_deliveries_unfinished{state="due"}': 1,
    'herald_deliveries_unfinished{state="receiver"}': 0,
    'herald_deliveries_unfinished{state="scheduled"}': 1,
    'herald_deliveries_unfinished{state="parked"}': 2,
    'herald_endpoints{state="enabled"}': 1,
    'herald_endpoints{state="quarantined"}': 1,
    'herald_endpoints{state="paused"}': 0,
    'herald_endpoints{state="disabled"}': 1,
    'herald_oldest_due_delivery_age_seconds{waits_for="herald"}': 90,
    'herald_oldest_due_delivery_age_seconds{waits_for="receiver"}': 0,
    'herald_shards{state="owned"}': 254,
    'herald_shards{state="unowned"}': 1,
    'herald_shards{state="stopped"}': 1,
    herald_notices_waiting: 0,
    'herald_catch_ups_due{kind="awaited"}': 1,
    'herald_catch_ups_due{kind="guard"}': 0,
    herald_partitions_ahead: 0,
    herald_blocking_sessions: 0,
    'herald_database_connections{state="used"}': expect.any(Number),
    'herald_database_connections{state="allowed"}': expect.any(Number),
    ...Object.fromEntries(
      ["inbox", "dead-letters", "rejected"].map((queue) => [`herald_queue_messages{queue="${queue}"}`, 0]),
    ),
  });
});

describe("a due delivery", () => {
  const secondsAgo = (seconds: number) => new Date(clock.now().getTime() - seconds * 1_000);

  /** An endpoint alone, with deliveries that have been due for these seconds, and one whose retry is not due. */
  async function waits(endpoint: Parameters<typeof insertEndpoint>[1], dueForSeconds: number[]) {
    const { prisma } = db.database;
    await prisma.due.deleteMany();
    const { id: endpointId } = await insertEndpoint(prisma, endpoint);
    await prisma.due.createMany({
      data: [...dueForSeconds, -30].map((seconds) => ({
        shard: shardOf(endpointId),
        endpointId,
        deliveryId: randomUUID(),
        dueAt: secondsAgo(seconds),
      })),
    });
    const scraped = await scrape(db.database);
    return {
      due: scraped['herald_deliveries_unfinished{state="due"}'],
      receiver: scraped['herald_deliveries_unfinished{state="receiver"}'],
      heraldSeconds: scraped['herald_oldest_due_delivery_age_seconds{waits_for="herald"}'],
      receiverSeconds: scraped['herald_oldest_due_delivery_age_seconds{waits_for="receiver"}'],
    };
  }

  beforeEach(() => own([...Array(256).keys()]));

  const failing = { consecutiveFailures: 2, failedAt: secondsAgo(60) };
  test.each<[string, Parameters<typeof insertEndpoint>[1], number[], [number, number, number, number]]>([
    ["Herald if its endpoint may have them all in flight", {}, [600, 500, 400, 300], [4, 0, 600, 0]],
    ["its receiver if its endpoint is full, but for the first", {}, [600, 500, 400, 300, 200, 100], [4, 2, 0, 600]],
    ["its receiver during a pause", { ...failing, pausedUntil: secondsAgo(-1) }, [600, 500], [0, 2, 0, 600]],
    ["Herald since a pause has ended", { ...failing, pausedUntil: secondsAgo(3) }, [600], [1, 0, 3, 0]],
    ["its receiver behind a single attempt", { ...failing, pausedUntil: secondsAgo(3) }, [600, 500], [1, 1, 0, 600]],
  ])(
    "a due delivery waits for %s",
    async (_whom, endpoint, dueForSeconds, [due, receiver, heraldSeconds, receiverSeconds]) => {
      expect(await waits(endpoint, dueForSeconds)).toEqual({ due, receiver, heraldSeconds, receiverSeconds });
    },
  );

  test("all due deliveries wait for Herald if no living dispatcher owns the endpoint's shard", async () => {
    const { prisma } = db.database;
    const many = { due: 4, receiver: 1, heraldSeconds: 600, receiverSeconds: 0 };
    await prisma.process.updateMany({ data: { aliveUntil: new Date(0) } });
    expect(await waits({}, [600, 500, 400, 300, 200])).toEqual(many);
    await prisma.shard.updateMany({ data: { owner: null } });
    expect(await waits({}, [600, 500, 400, 300, 200])).toEqual(many);
  });

  test("due deliveries are counted at each of many endpoints, in whatever shards they are", async () => {
    const { prisma } = db.database;
    await prisma.due.deleteMany();
    for (let number = 0; number < 20; number++) {
      const endpoint = await insertEndpoint(prisma);
      for (let each = 0; each < 6; each++) await insertDelivery(prisma, endpoint);
    }
    expect(await scrape(db.database)).toMatchObject({
      'herald_deliveries_unfinished{state="due"}': 80,
      'herald_deliveries_unfinished{state="receiver"}': 40,
    });
  });
});

test("metrics that can't be read are absent, the others are there, and the log says so once; of a broker that is away it does not", async () => {
  const away = openDatabase("postgresql://nobody@127.0.0.1:1/none");
  const warned: unknown[] = [];
  const log = { ...SILENT, warn: (message: string) => void warned.push(message) };
  try {
    const withoutBroker = await exporting(db.database, "amqp://127.0.0.1:1", log);
    for (let each = 0; each < 3; each++) expect(Object.keys(await withoutBroker.scrape())).toHaveLength(21);
    await withoutBroker.close();
    expect(warned).toEqual([]);
    const withoutDatabase = await exporting(away, place.url, log);
    for (let each = 0; each < 3; each++) expect(Object.keys(await withoutDatabase.scrape())).toHaveLength(3);
    await withoutDatabase.close();
    expect(warned).toEqual(["how far behind Herald is can't be read"]);
  } finally {
    await away.close();
  }
});

const OF_LOCKED = [
  ["delivery", "herald_partitions_ahead", 'herald_shards{state="owned"}'],
  ["due", 'herald_shards{state="owned"}', "herald_partitions_ahead"],
] as const;

test.each(OF_LOCKED)(
  "the metrics answer while the table %s is locked, without what it takes, and count the session that locks it",
  async (table, absent, present) => {
    const [ours, others] = [openDatabase(db.url), openDatabase(db.url, { applicationName: "psql" })];
    const exporter = await exporting(ours, place.url);
    const lock = async (transaction: Pick<Database["prisma"], "$executeRawUnsafe">) => {
      await transaction.$executeRawUnsafe(`lock table ${table} in access exclusive mode`);
      await eventually(async () => {
        const metrics = await exporter.scrape();
        expect(metrics).toMatchObject({ herald_blocking_sessions: 1, 'herald_queue_messages{queue="inbox"}': 0 });
        expect([absent in metrics, present in metrics]).toEqual([false, true]);
      });
      await exporter.scrape();
      expect(await lockWaiters(db.database.prisma)).toBe(1);
    };
    try {
      await others.prisma.$transaction(lock, { timeout: 60_000 });
      await eventually(async () =>
        expect(await exporter.scrape()).toMatchObject({ herald_blocking_sessions: 0, [absent]: expect.any(Number) }),
      );
    } finally {
      await exporter.close();
      await ours.close();
      await others.close();
    }
  },
);

test("the metrics show for how long a transaction keeps dead rows from being vacuumed", async () => {
  const other = openDatabase(db.url, { poolSize: 1 });
  try {
    await other.prisma.$transaction(async (transaction) => {
      await transaction.$executeRawUnsafe("set transaction isolation level repeatable read");
      await transaction.$queryRaw`select 1`;
      await eventually(async () => {
        const { herald_oldest_transaction_age_seconds: age } = await scrape(db.database);
        expect(age).toBeGreaterThan(0.1);
      });
    });
  } finally {
    await other.close();
  }
});

test("the days ahead count those after today that have partitions, however many days one spans", async () => {
  for (const [first, end] of [
    [1, 3],
    [3, 4],
    [5, 7],
  ] as const) {
    await makePartitions(db.database.queries, { first: dayAt(first), end: dayAt(end) });
  }
  expect(await scrape(db.database)).toMatchObject({ herald_partitions_ahead: 5 });
});

test("reading the metrics costs by what is unfinished, not by the history", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await prisma.$executeRaw`
    insert into delivery (id, endpoint_id, organization_id, event_type, state, attempted_at, created_at)
    select (left(${firstIdAt(clock.now())}::text, 24) || lpad(number::text, 12, '0'))::uuid, ${endpoint.id}::uuid, 'big', 'RiskCreated',
      'succeeded', now(), now()
    from generate_series(1, 20000) as number`;
  await prisma.$executeRaw`
    insert into due (shard, delivery_id, endpoint_id, due_at)
    select shard_of(${endpoint.id}::uuid), gen_random_uuid(), ${endpoint.id}::uuid, ${clock.now()}::timestamptz from generate_series(1, 20000)`;
  await prisma.$executeRawUnsafe("analyze delivery, due");
  const scans = async () => {
    await prisma.$executeRawUnsafe("select pg_stat_force_next_flush()");
    return await prisma.$queryRaw`
      select relname::text as "table", seq_scan::int as "scans" from pg_stat_user_tables
      where relname like 'delivery%' or relname like 'business_event%' or relname = 'due' order by 1`;
  };
  const before = await scans();
  await scrape(db.database);
  expect(await scans()).toEqual(before);
});
