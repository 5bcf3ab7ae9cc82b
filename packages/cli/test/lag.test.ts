import { declareTopology, names } from "@herald/common/broker/topology";
import { insertDelivery, insertEndpoint } from "@herald/testkit/harness/rows";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { runHerald } from "./run-herald.ts";

const db = useDatabase();
const place = useBroker();

const run = (...args: string[]) =>
  runHerald(["lag", ...args], { DATABASE_URL: db.url, AMQP_URL: place.url, BROKER_NAMESPACE: place.namespace });

test("says what waits in the queues, and what the database knows", async () => {
  const before = await run("--json");
  expect(before.code).toBe(0);
  expect(JSON.parse(before.stdout)).toMatchObject({ due: 0, oldestDueAt: null, oldestDueSeconds: null });
  expect((await run()).stdout).toContain("not there");

  const { prisma } = db.database;
  const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000);
  const enabled = await insertEndpoint(prisma, { catchUpAt: minutesFromNow(-1) });
  const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "failures" });
  await insertEndpoint(prisma, { enabled: false, disabledReason: "paused" });
  await insertDelivery(prisma, enabled, { nextAttemptAt: minutesFromNow(-10) });
  await insertDelivery(prisma, enabled, { nextAttemptAt: minutesFromNow(-5) });
  await insertDelivery(prisma, enabled, { nextAttemptAt: minutesFromNow(5) });
  await insertDelivery(prisma, enabled, { state: "succeeded", nextAttemptAt: null });
  await insertDelivery(prisma, disabled, { state: "parked" });
  const queues = names(place.namespace);
  const connection = await connect(place.url);
  const channel = await connection.createConfirmChannel();
  await declareTopology(channel, place.namespace);
  channel.sendToQueue(queues.rejectedQueue, Buffer.from("x"));
  await channel.waitForConfirms();

  const { code, stdout } = await run("--json");
  await connection.close();
  expect(code).toBe(0);
  const lag = JSON.parse(stdout);
  expect(lag).toMatchObject({
    due: 2,
    scheduled: 1,
    parked: 1,
    notices: 0,
    catchUps: 1,
    endpointsEnabled: 1,
    endpointsPaused: 1,
    endpointsFailed: 1,
    queues: [
      { queue: queues.inboxQueue, messages: 0, consumers: 0 },
      { queue: queues.firstHintsQueue, messages: 0, consumers: 0 },
      { queue: queues.manualHintsQueue, messages: 0, consumers: 0 },
      { queue: queues.rejectedQueue, messages: 1, consumers: 0 },
    ],
  });
  expect(lag.oldestDueSeconds).toBeGreaterThanOrEqual(600);
  expect(lag.oldestDueSeconds).toBeLessThan(660);
  expect((await run()).stdout).toMatch(/^deliveries due +2 +oldest for 6\d\d s$/m);
});
