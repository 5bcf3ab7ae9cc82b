import { declareHints, declareTopology, names } from "@herald/common/broker/topology";
import { insertDelivery, insertEndpoint } from "@herald/testkit/harness/rows";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
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
  expect(JSON.parse(before.stdout)).toMatchObject({ due: 0, oldestDueAt: null, oldestDueSeconds: null });
  expect((await run()).stdout).toContain("not there");

  const { prisma } = db.database;
  const startedAt = Date.now();
  const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000);
  const enabled = await insertEndpoint(prisma);
  await prisma.catchUp.create({ data: { endpointId: enabled.id, dueAt: minutesFromNow(-1) } });
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
  await declareHints(channel, broker.namespace);
  channel.sendToQueue(queues.rejectedQueue, Buffer.from("x"));
  await channel.waitForConfirms();

  const { code, stdout } = await run("--json");
  await connection.close();
  expect(code).toBe(0);
  const lag = JSON.parse(stdout);
  expect(lag).toMatchObject({
    due: 2,
    scheduled: 1,
    disabled: 1,
    notices: 0,
    catchUps: 1,
    guards: 0,
    partitionsAhead: 0,
    endpointsEnabled: 1,
    endpointsPaused: 1,
    endpointsFailed: 1,
    queues: [
      ...queues.inboxQueues.map((queue) => ({ queue, messages: 0, consumers: 0 })),
      { queue: queues.hintsQueue, messages: 0, consumers: 0 },
      { queue: queues.manualQueue, messages: 0, consumers: 0 },
      { queue: queues.rejectedQueue, messages: 1, consumers: 0 },
    ],
  });
  const text = (await run()).stdout;
  // Due for ten minutes when it was inserted, and for as long as the test has taken since.
  const longest = 600 + (Date.now() - startedAt) / 1_000;
  const [, shown] = /^deliveries due +2 +oldest for (\d+) s$/m.exec(text) ?? [];
  for (const seconds of [lag.oldestDueSeconds, Number(shown)]) {
    expect(seconds).toBeGreaterThanOrEqual(600);
    expect(seconds).toBeLessThanOrEqual(Math.ceil(longest));
  }
});
