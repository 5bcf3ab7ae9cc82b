import { deliveryId, eventKey } from "@herald/common/database/ids";
import { progressOf, storedDeliveries } from "@herald/e2e/chaos/environment/database";
import { insertEndpoint } from "@herald/testkit/harness/rows";
import { type TestDatabase, useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import type { BenchHerald } from "../src/bench/environment.ts";
import { dropOldDay } from "../src/bench/rows/partition.ts";
import { inDatabase, storeUnfinished } from "../src/bench/rows/stored-backlog.ts";
import { storeFinished, storeFinishedDay } from "../src/bench/rows/stored-history.ts";
import { serverWork } from "../src/bench/server-work.ts";

const stored = useDatabase();
const past = useDatabase();
const dropped = useDatabase();
const counted = useDatabase();
const herald = ({ url }: TestDatabase) => ({ databaseUrl: url }) as BenchHerald;

test("a stored backlog is due, has the ids that Herald would give it, and its failed attempt where it has one", async () => {
  const { prisma } = stored.database;
  const endpoint = await insertEndpoint(prisma);
  for (const kind of ["new", "failed"] as const) {
    await storeUnfinished(herald(stored), { endpointIds: [endpoint.id], deliveries: 3, kind });
  }
  const deliveries = await storedDeliveries(prisma);
  expect(deliveries.map(({ attempts }) => attempts.length).sort()).toEqual([0, 0, 0, 1, 1, 1]);
  const events = new Map((await prisma.businessEvent.findMany()).map((event) => [event.id, event]));
  for (const { id, eventId, isDue } of deliveries) {
    const event = events.get(eventId ?? "");
    if (!event) throw new Error(`Delivery ${id} has no event.`);
    expect(event.key).toBe(eventKey(endpoint.organizationId, event.id, event.occurredAt));
    expect({ id, isDue }).toEqual({ id: deliveryId(event.key, endpoint.id), isDue: true });
  }
  expect(await progressOf(prisma)).toEqual({ finished: 0, unfinished: 12, notices: 0 });
});

test("a stored history lies in partitions of days, and one delivery in twenty had an attempt that failed", async () => {
  const { prisma } = past.database;
  const organizationId = "organization";
  const history = { organizationId, endpoints: 10, otherEndpoints: 100, deliveries: 400, days: 4, progress: () => {} };
  await storeFinished(herald(past), history);
  const parts = await prisma.$queryRaw<{ name: string; count: number }[]>`
    select tableoid::regclass::text as name, count(*)::int as count from delivery
    where organization_id = ${organizationId} group by 1 order by 1`;
  expect(parts.every(({ name }) => /^delivery_\d{8}$/.test(name))).toBe(true);
  expect(parts.length).toBeGreaterThanOrEqual(4);
  expect(parts.reduce((sum, { count }) => sum + count, 0)).toBe(400);
  expect(await prisma.deliveryAttempt.count()).toBe(20);
});

test("a day that is stored at once lies in partitions of its own, and the publisher's statement drops it", async () => {
  const { prisma } = dropped.database;
  const { organizationId } = await insertEndpoint(prisma);
  const day = "2026-03-01";
  await storeFinishedDay(herald(dropped), { organizationId, deliveries: 400, day, progress: () => {} });
  const [{ count } = { count: 0 }] = await prisma.$queryRaw<{ count: number }[]>`
    select count(*)::int as count from delivery_20260301
    join business_event_20260301 as event on event.organization_id = delivery_20260301.organization_id and key = event_key`;
  expect(count).toBe(400);
  expect(await prisma.deliveryAttempt.count()).toBe(20);
  expect(await dropOldDay(herald(dropped), day)).toMatchObject({ tries: 1 });
  expect(await prisma.delivery.count()).toBe(0);
  expect(await prisma.businessEvent.count()).toBe(0);
  expect(await prisma.deliveryAttempt.count()).toBe(0);
});

test("index entries are counted from what PostgreSQL says of its tables", async () => {
  // The connection is closed afterwards, and so gives up its counts at once.
  await inDatabase(herald(counted), async (client) => {
    await client.query(`insert into webhook_endpoint
      (id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at)
      values (gen_random_uuid(), 'organization', 'Receiver', 'https://receiver.test', true, '{}', 'sealed', now(), now())`);
    await client.query("update webhook_endpoint set name = 'Another name'");
    await client.query("update webhook_endpoint set organization_id = 'another'");
  });
  // A row of an endpoint is in two indexes. A change of its name writes none, a change of its organization writes both.
  expect(await serverWork(counted.url, undefined)).toMatchObject({ indexInsertions: 4, updates: 2, hotUpdates: 1 });
});
