import { randomUUID } from "node:crypto";
import { shardOf } from "@herald/common/database/shards";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { describeDeliveries, readBodies } from "../src/sql/describe-deliveries.ts";
import { BEGINNING, type Demand, findEndpointsWithWork, markInterrupted, readDue } from "../src/sql/read-due.ts";

const db = useDatabase();
const EVERY_SHARD = Array.from({ length: 256 }, (_, shard) => shard);
const at = (seconds: number) => new Date(ROW_TIME.getTime() + seconds * 1_000);

afterEach(async () => {
  const { prisma } = db.database;
  await prisma.due.deleteMany();
  await prisma.delivery.deleteMany();
});

/** Stores deliveries of an endpoint that are due a second after each other, and returns their ids. */
async function insertDeliveries(endpoint: { id: string; organizationId: string }, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    ids.push((await insertDelivery(db.database.prisma, endpoint, { due: { dueAt: at(index) } })).id);
  }
  return ids;
}

const demand = (endpointId: string, override: Partial<Demand> = {}): Demand => ({
  endpointId,
  shard: shardOf(endpointId),
  epoch: 0,
  count: 10,
  after: BEGINNING,
  ...override,
});

test("§6.3 each endpoint has its own number, oldest first, so that no backlog hides another's", async () => {
  const { prisma, queries } = db.database;
  const [large, small] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
  const ofLarge = await insertDeliveries(large, 30);
  const ofSmall = await insertDeliveries(small, 2);
  const rows = await readDue(queries, [demand(large.id, { count: 3 }), demand(small.id)]);
  const idsOf = (id: string) => rows.filter(({ endpointId }) => endpointId === id).map((row) => row.deliveryId);
  expect([idsOf(large.id), idsOf(small.id)]).toEqual([ofLarge.slice(0, 3), ofSmall]);
});

test("reading a backlog goes on behind the cursor, and ends with rows that are due later", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const ids = await insertDeliveries(endpoint, 5);
  const [, second] = await readDue(queries, [demand(endpoint.id, { count: 2 })]);
  const rest = await readDue(queries, [demand(endpoint.id, { after: second ?? BEGINNING })]);
  expect(rest.map(({ deliveryId }) => deliveryId)).toEqual(ids.slice(2));
});

test("a row whose delivery has ended, or is gone, is deleted, and the others are read", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const [ended = "", waiting = ""] = await insertDeliveries(endpoint, 2);
  await prisma.delivery.update({ where: { id: ended }, data: { state: "succeeded" } });
  const orphan = randomUUID();
  await prisma.due.create({
    data: { shard: shardOf(endpoint.id), deliveryId: orphan, endpointId: endpoint.id, dueAt: at(9) },
  });
  const deliveries = await describeDeliveries(queries, await readDue(queries, [demand(endpoint.id)]));
  expect(deliveries.map(({ deliveryId }) => deliveryId)).toEqual([waiting]);
  expect((await prisma.due.findMany()).map(({ deliveryId }) => deliveryId)).toEqual([waiting]);
});

test("reading a backlog brings small bodies, and the length of large ones, which are read later", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const large = JSON.stringify("é".repeat(5_000));
  await insertDelivery(prisma, endpoint, { body: "{}", due: { dueAt: at(0) } });
  await insertDelivery(prisma, endpoint, { body: large, due: { dueAt: at(1) } });
  const deliveries = await describeDeliveries(queries, await readDue(queries, [demand(endpoint.id)]));
  expect(deliveries.map(({ body, bodyBytes }) => [body, bodyBytes])).toEqual([
    ["{}", 2],
    [null, Buffer.byteLength(large)],
  ]);
  await prisma.delivery.updateMany({ where: { id: deliveries[0]?.deliveryId ?? "" }, data: { state: "succeeded" } });
  expect(await readBodies(queries, deliveries)).toEqual([undefined, Buffer.from(large)]);
});

test("the oldest due deliveries of endpoints whose owner died count an interruption, as many as may have been in flight", async () => {
  const { prisma, queries } = db.database;
  const [one, other] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
  const ids = [...(await insertDeliveries(one, 4)), ...(await insertDeliveries(other, 1))];
  // The last two are not due yet.
  expect(await markInterrupted(queries, [one.id, other.id], { perEndpoint: 3, now: at(1) })).toBe(3);
  const marked = await prisma.due.findMany({ where: { interruptions: 1 } });
  expect(marked.map(({ deliveryId }) => deliveryId).sort()).toEqual([ids[0], ids[1], ids[4]].sort());
});

test("deliveries that were interrupted before spread over the next minutes, and their attempts are settled as any", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const ids = await insertDeliveries(endpoint, 40);
  await prisma.due.updateMany({ where: { endpointId: endpoint.id }, data: { interruptions: 2 } });
  expect(await markInterrupted(queries, [endpoint.id], { perEndpoint: 40, now: at(100) })).toBe(40);
  const rows = await prisma.due.findMany({ where: { endpointId: endpoint.id }, orderBy: { dueAt: "asc" } });
  const times = rows.map(({ dueAt }) => dueAt.getTime());
  expect(times.every((time) => time >= at(100).getTime() && time <= at(220).getTime())).toBe(true);
  expect(new Set(times).size).toBeGreaterThan(30);
  // A settlement finds its row of due by the delivery's own time.
  const deliveries = await prisma.delivery.findMany({ where: { id: { in: ids } } });
  const dueById = new Map(rows.map(({ deliveryId, dueAt }) => [deliveryId, dueAt]));
  for (const { id, nextAttemptAt } of deliveries) expect(nextAttemptAt).toEqual(dueById.get(id));
});

test("§6.3 §8/pass a sweep finds every enabled endpoint of its shards with a due delivery, however large other backlogs are", async () => {
  const { prisma, queries } = db.database;
  const endpoints = await Promise.all(Array.from({ length: 40 }, () => insertEndpoint(prisma)));
  const [busy, paused] = endpoints as [(typeof endpoints)[0], (typeof endpoints)[0]];
  await insertDeliveries(busy, 60);
  for (const endpoint of endpoints.slice(1)) await insertDeliveries(endpoint, 1);
  await prisma.webhookEndpoint.update({ where: { id: paused.id }, data: { enabled: false } });
  const later = await insertEndpoint(prisma);
  await insertDelivery(prisma, later, { due: { dueAt: at(3_600) } });

  const early = await insertEndpoint(prisma);
  // By a clock that was set back since.
  await insertDelivery(prisma, early, { due: { dueAt: at(3_601) } });

  const bounds = { dueBy: at(60), latestDue: at(3_600) };
  const found = await findEndpointsWithWork(queries, EVERY_SHARD, bounds);
  const expected = [...endpoints, early].filter(({ id }) => id !== paused.id).map(({ id }) => id);
  expect(found.map(({ endpointId }) => endpointId).sort()).toEqual(expected.sort());
  expect(found.find(({ endpointId }) => endpointId === busy.id)).toMatchObject({ dueAt: at(0), failures: 0 });
  const some = await findEndpointsWithWork(queries, [shardOf(busy.id)], bounds);
  expect(some.map(({ endpointId }) => endpointId)).toEqual(
    expected.filter((id) => shardOf(id) === shardOf(busy.id)).sort(),
  );
});
