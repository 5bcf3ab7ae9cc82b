import { idAt, insertDelivery, insertEndpoint, insertResend, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { createErasure } from "../src/retention.ts";
import { taskParts } from "./given.ts";

const db = useDatabase();
const MINUTE_MS = 60_000;
const OPTIONS = { pageSize: 10, leaseMs: 2 * MINUTE_MS };

let clock = steeredClock(ROW_TIME);

beforeEach(async () => {
  clock = steeredClock(ROW_TIME);
  await db.database.prisma
    .$executeRaw`truncate webhook_endpoint, resend, erasure, delivery, delivery_attempt, due, endpoint_hour`;
});

type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

const run = () => createErasure(taskParts(db.database.queries, clock), OPTIONS)(new AbortController().signal);

/** Finished deliveries with an earlier attempt each, and unfinished ones. */
async function insertHistory(endpoint: Endpoint, finished: number, unfinished: number): Promise<void> {
  const { prisma } = db.database;
  for (let index = 0; index < finished + unfinished; index++) {
    const row = index < finished ? ({ state: "succeeded", attemptCount: 2 } as const) : {};
    // Over several days, so that they lie in several partitions.
    const createdAt = new Date(ROW_TIME.getTime() - index * 60 * MINUTE_MS);
    const { id } = await insertDelivery(prisma, endpoint, { id: idAt(createdAt), createdAt, ...row });
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
  };
}
const erasureOf = ({ id }: Endpoint) => db.database.prisma.erasure.findUnique({ where: { endpointId: id } });

test("what a deleted endpoint leaves is erased, page by page, and nothing of others", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const other = await insertEndpoint(db.database.prisma, { organizationId: endpoint.organizationId });
  await insertHistory(endpoint, 20, 15);
  await insertHistory(other, 1, 1);
  await insertChanges(endpoint, 50);
  await insertChanges(other, 1);
  await insertResends(endpoint, 15);
  await insertResends(other, 1);
  await deleteEndpoint(endpoint);
  await run();
  // The trail is the organization's, and outlives the endpoint.
  expect(await left(endpoint)).toEqual({ deliveries: 0, due: 0, changes: 50, resends: 0 });
  expect(await left(other)).toEqual({ deliveries: 2, due: 1, changes: 1, resends: 1 });
  expect(await db.database.prisma.deliveryAttempt.count()).toBe(2);
});

test("what a fan-out adds after the endpoint was deleted goes with a last look 15 minutes later, and then the erasure too", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await insertHistory(endpoint, 2, 2);
  await deleteEndpoint(endpoint);
  await run();
  expect(await erasureOf(endpoint)).toMatchObject({ dueAt: new Date(ROW_TIME.getTime() + 15 * MINUTE_MS) });
  await insertHistory(endpoint, 0, 3);
  clock.advance(14 * MINUTE_MS);
  await run();
  expect(await left(endpoint)).toEqual({ deliveries: 3, due: 3, changes: 0, resends: 0 });
  clock.advance(MINUTE_MS);
  await run();
  expect(await left(endpoint)).toEqual({ deliveries: 0, due: 0, changes: 0, resends: 0 });
  expect(await erasureOf(endpoint)).toBeNull();
});

test("several publishers at once erase everything", async () => {
  const endpoints = await Promise.all([1, 2, 3].map(() => insertEndpoint(db.database.prisma)));
  for (const endpoint of endpoints) {
    await insertHistory(endpoint, 12, 3);
    await deleteEndpoint(endpoint);
  }
  await Promise.all([run(), run(), run()]);
  for (const endpoint of endpoints)
    expect(await left(endpoint)).toEqual({ deliveries: 0, due: 0, changes: 0, resends: 0 });
});

test("a deleted endpoint's rates go with it, and another one's stay", async () => {
  const { prisma } = db.database;
  const [gone, other] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
  const sums = { hour: ROW_TIME, succeeded: 1, failed: 0, durations: [1] };
  await prisma.endpointHour.createMany({ data: [gone, other].map(({ id }) => ({ endpointId: id, ...sums })) });
  await deleteEndpoint(gone);
  await run();
  expect(await prisma.endpointHour.findMany()).toMatchObject([{ endpointId: other.id }]);
});
