import { randomUUID } from "node:crypto";
import { declareTopology, names } from "@herald/common/broker/topology";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { runHerald } from "./run-herald.ts";

const db = useDatabase();
const broker = useBroker();

const run = (...args: string[]) =>
  runHerald(["lag", ...args], { DATABASE_URL: db.url, AMQP_URL: broker.url, BROKER_NAMESPACE: broker.namespace });

test("herald lag says what waits in the queues, and what the database knows", async () => {
  const before = await run("--json");
  expect(before.code).toBe(0);
  expect(JSON.parse(before.stdout)).toMatchObject({
    due: 0,
    dueForHerald: 0,
    oldestForHeraldSeconds: null,
    oldestForReceiverSeconds: null,
  });
  expect((await run()).stdout).toContain("not there");

  const { prisma } = db.database;
  const startedAt = Date.now();
  const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000);
  const owner = await prisma.process.create({
    data: { id: randomUUID(), service: "dispatcher", able: true, aliveUntil: minutesFromNow(60) },
  });
  await prisma.process.create({ data: { id: randomUUID(), service: "dispatcher", aliveUntil: minutesFromNow(60) } });
  await prisma.shard.updateMany({ data: { owner: owner.id } });
  await prisma.shard.update({ where: { id: 255 }, data: { owner: null, stoppedAt: minutesFromNow(-1) } });
  const enabled = await insertEndpoint(prisma);
  await prisma.catchUp.create({ data: { endpointId: enabled.id, dueAt: minutesFromNow(-1) } });
  const paused = await insertEndpoint(prisma, { consecutiveFailures: 1, pausedUntil: minutesFromNow(5) });
  await insertDelivery(prisma, paused, { due: { dueAt: minutesFromNow(-20) } });
  const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "failures" });
  await insertEndpoint(prisma, { enabled: false, disabledReason: "paused" });
  await insertDelivery(prisma, enabled, { due: { dueAt: minutesFromNow(-10) } });
  await insertDelivery(prisma, enabled, { due: { dueAt: minutesFromNow(-5) } });
  await insertDelivery(prisma, enabled, { due: { dueAt: minutesFromNow(5) } });
  await insertDelivery(prisma, enabled, { state: "succeeded" });
  await insertDelivery(prisma, disabled);
  const queues = names(broker.namespace);
  const connection = await connect(broker.url);
  const channel = await connection.createConfirmChannel();
  await declareTopology(channel, broker.namespace);
  channel.sendToQueue(queues.rejectedQueue, Buffer.from("x"));
  await channel.waitForConfirms();

  const { code, stdout } = await run("--json");
  await connection.close();
  expect(code).toBe(0);
  const lag = JSON.parse(stdout);
  expect(lag).toMatchObject({
    due: 3,
    dueForHerald: 2,
    scheduled: 1,
    parked: 1,
    notices: 0,
    catchUps: 1,
    guards: 0,
    partitionsAhead: expect.any(Number),
    endpointsEnabled: 2,
    endpointsPaused: 1,
    endpointsFailed: 1,
    dispatchersAble: 1,
    dispatchersUnable: 1,
    shardsOwned: 255,
    shardsUnowned: 0,
    shardsStopped: 1,
    queues: [
      ...queues.eventQueues.map((queue) => ({ queue, messages: 0, consumers: 0 })),
      { queue: queues.rejectedQueue, messages: 1, consumers: 0 },
    ],
  });
  const text = (await run()).stdout;
  // Due for ten and for twenty minutes when they were inserted, and for as long as the test has taken since.
  const since = (Date.now() - startedAt) / 1_000;
  const [, herald] = /^ +wait for Herald +2 +oldest for (\d+) s$/m.exec(text) ?? [];
  const [, receiver] = /^ +wait for their receiver +1 +oldest for (\d+) s$/m.exec(text) ?? [];
  for (const [seconds, minutes] of [
    [lag.oldestForHeraldSeconds, 10],
    [Number(herald), 10],
    [lag.oldestForReceiverSeconds, 20],
    [Number(receiver), 20],
  ]) {
    expect(seconds).toBeGreaterThanOrEqual(minutes * 60);
    expect(seconds).toBeLessThanOrEqual(Math.ceil(minutes * 60 + since));
  }
});
