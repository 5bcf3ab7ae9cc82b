import { connectBroker } from "@herald/common/broker/broker";
import { names as namesOf } from "@herald/common/broker/topology";
import { openDatabase } from "@herald/common/database/open-database";
import type { Queries } from "@herald/common/database/queries";
import { Registry } from "@herald/common/telemetry/metrics";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/testkit/harness/rows";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import { exportLag } from "../src/lag-metrics.ts";

// One connection, so that what it counted is what is asked for.
const db = useDatabase({ poolSize: 1 });
const place = useBroker();
const names = namesOf(place.namespace);
const clock = steeredClock(new Date(ROW_TIME.getTime() + 90_000));
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** The exported series and their values. */
async function scrape(queries: Queries, amqpUrl: string): Promise<Record<string, number>> {
  const broker = connectBroker({ url: amqpUrl, namespace: place.namespace, name: "lag test", log });
  const registry = new Registry();
  try {
    const inspector = broker.inspector();
    if (amqpUrl === place.url) await broker.ready();
    exportLag(registry, { queries, inspector, names, clock });
    const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("herald_"));
    return Object.fromEntries(lines.map((line) => [line.split(" ")[0], Number(line.split(" ")[1])]));
  } finally {
    await broker.close();
  }
}

test("the metrics show what is due and since when, what waits, and what is set aside", async () => {
  const { prisma } = db.database;
  const enabled = await insertEndpoint(prisma);
  const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "failures" });
  await insertDelivery(prisma, enabled);
  await insertDelivery(prisma, enabled, { nextAttemptAt: new Date(clock.now().getTime() + 1) });
  await insertDelivery(prisma, enabled, { state: "exhausted", nextAttemptAt: null });
  await insertDelivery(prisma, disabled, { state: "parked" });
  expect(await scrape(db.database.queries, place.url)).toEqual({
    'herald_deliveries_unfinished{state="due"}': 1,
    'herald_deliveries_unfinished{state="scheduled"}': 1,
    'herald_deliveries_unfinished{state="parked"}': 1,
    'herald_endpoints{state="enabled"}': 1,
    'herald_endpoints{state="paused"}': 0,
    'herald_endpoints{state="disabled"}': 1,
    herald_oldest_due_delivery_age_seconds: 90,
    herald_notices_waiting: 0,
    herald_catch_ups_due: 0,
    ...Object.fromEntries(
      ["inbox", "rejected", "first", "manual"].flatMap((queue) => [
        [`herald_queue_messages{queue="${queue}"}`, 0],
        [`herald_queue_consumers{queue="${queue}"}`, 0],
      ]),
    ),
  });
});

test("metrics that can't be read are absent, and the others are there", async () => {
  const away = openDatabase("postgresql://nobody@127.0.0.1:1/none");
  try {
    const withoutDatabase = await scrape(away.queries, place.url);
    expect(Object.keys(withoutDatabase)).toHaveLength(8);
    const withoutBroker = await scrape(db.database.queries, "amqp://127.0.0.1:1");
    expect(Object.keys(withoutBroker)).toHaveLength(9);
  } finally {
    await away.close();
  }
});

test("reading the metrics costs by what is unfinished, not by the history", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await prisma.$executeRaw`
    insert into delivery (endpoint_id, organization_id, event_type, state, attempted_at, created_at)
    select ${endpoint.id}::uuid, 'big', 'RiskCreated', 'succeeded', now(), now() from generate_series(1, 20000)`;
  await prisma.$executeRawUnsafe("analyze delivery");
  const scans = async () => {
    await prisma.$executeRawUnsafe("select pg_stat_force_next_flush()");
    const [row] = await prisma.$queryRaw<{ scans: number }[]>`
      select seq_scan::int as "scans" from pg_stat_user_tables where relname = 'delivery'`;
    return row?.scans;
  };
  const before = await scans();
  await scrape(db.database.queries, place.url);
  expect(await scans()).toBe(before);
});
