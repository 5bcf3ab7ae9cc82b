import { declareTopology, names } from "@herald/common/broker/topology";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import type { NamedFinding } from "../../src/doctor/finding.ts";
import { callHerald } from "../run-herald.ts";

const db = useDatabase();
const broker = useBroker();

test("herald doctor says what waits in PostgreSQL and in RabbitMQ", async () => {
  const { prisma } = db.database;
  const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000);
  const enabled = await insertEndpoint(prisma);
  const paused = await insertEndpoint(prisma, { consecutiveFailures: 1, pausedUntil: minutesFromNow(5) });
  const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "failures" });
  for (const minutes of [-10, -5, 5]) {
    await insertDelivery(prisma, enabled, { due: { dueAt: minutesFromNow(minutes) } });
  }
  await insertDelivery(prisma, paused, { due: { dueAt: minutesFromNow(-20) } });
  await insertDelivery(prisma, disabled);
  await prisma.catchUp.create({ data: { endpointId: enabled.id, dueAt: minutesFromNow(-1) } });
  const { rejectedQueue } = names(broker.namespace);
  const connection = await connect(broker.url);
  const channel = await connection.createConfirmChannel();
  await declareTopology(channel, broker.namespace);
  channel.sendToQueue(rejectedQueue, Buffer.from("x"));
  await channel.waitForConfirms();
  await connection.close();

  const settings = { DATABASE_URL: db.url, AMQP_URL: broker.url, BROKER_NAMESPACE: broker.namespace };
  const { findings } = JSON.parse((await callHerald(["doctor", "--json"], settings)).stdout);
  const found = (name: string) => findings.find(({ check }: NamedFinding) => check === name);
  expect(found("what waits")).toMatchObject({
    status: "ok",
    what: expect.stringMatching(
      /^Deliveries: 2 for Herald \(the oldest for 6\d\d s\), 1 for their receiver \(the oldest for 1[2-9]\d\d s\), 1 for a retry, 1 with a disabled endpoint\. Notices: 0\. Catch-ups: 1\. The oldest transaction began \d+ s ago\.$/,
    ),
  });
  expect(found("inbox")).toMatchObject({ status: "ok", what: "Messages: 0 to be stored, 0 set aside, 1 rejected." });
});
