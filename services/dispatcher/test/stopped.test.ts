import { shardOf } from "@herald/common/database/shards";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { BEGINNING, readDue } from "../src/sql/read-due.ts";
import { useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const rabbitmq = useBroker();
// Before the hooks of this file, so that dispatchers have stopped when the receiver ends.
const dispatchers = useDispatchers(db, rabbitmq);
let receiver: HttpsReceiver;

beforeEach(async () => {
  receiver = await httpsReceiver();
});
afterEach(async () => {
  await receiver.close();
  await goOn();
  await db.database.prisma.due.deleteMany();
  await db.database.prisma.delivery.deleteMany();
});

/** As `herald dispatch stop` and `herald dispatch start`. */
async function stop(): Promise<void> {
  await db.database.prisma.shard.updateMany({ data: { stoppedAt: new Date() } });
}
async function goOn(): Promise<void> {
  await db.database.prisma.shard.updateMany({ data: { stoppedAt: null } });
}
const owned = () => db.database.prisma.shard.count({ where: { owner: { not: null } } });

test("a dispatcher that starts while dispatching is stopped attempts nothing, and goes on when it is started again", async () => {
  await stop();
  const endpoint = await dispatchers.insertEndpointAt(`${receiver.url}/`);
  await dispatchers.insertDeliveries(endpoint, 3);
  await dispatchers.start({}, { sweepIntervalMs: 50 });
  // A fixed wait, to show an absence: heartbeats and sweeps come and go meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect([receiver.requests, await owned()]).toEqual([[], 0]);
  expect(await db.database.prisma.due.count({ where: { interruptions: 0 } })).toBe(3);

  await goOn();
  await receiver.received(3);
  expect(await owned()).toBe(256);
});

test("a dispatcher that runs gives up its shards when dispatching is stopped, those with attempts under way when they have ended", async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  receiver.answerWith(async () => {
    await answered;
    return { status: 200 };
  });
  await dispatchers.start({}, { sweepIntervalMs: 50 });
  const endpoint = await dispatchers.insertEndpointAt(`${receiver.url}/`);
  await dispatchers.insertDeliveries(endpoint, 1);
  await receiver.received(1);
  await stop();
  await eventually(async () => expect(await owned()).toBe(1));
  await dispatchers.insertDeliveries(endpoint, 1);
  answer();
  await eventually(async () => expect(await owned()).toBe(0));
  expect(await db.database.prisma.delivery.count({ where: { state: "succeeded" } })).toBe(1);
  expect(receiver.requests).toHaveLength(1);
});

test("no row is read of a shard that is stopped, or that another dispatcher has taken since, also where its owner has not heard of it", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await insertDelivery(prisma, endpoint);
  const shard = shardOf(endpoint.id);
  const { epoch } = await prisma.shard.findUniqueOrThrow({ where: { id: shard } });
  const read = (epoch: number) =>
    readDue(queries, [{ endpointId: endpoint.id, shard, epoch, count: 10, after: BEGINNING }]);
  expect(await read(Number(epoch))).toHaveLength(1);
  expect(await read(Number(epoch) - 1)).toEqual([]);
  await stop();
  expect(await read(Number(epoch))).toEqual([]);
});
