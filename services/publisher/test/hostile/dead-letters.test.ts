import { randomUUID } from "node:crypto";
import { CAME_TOO_OFTEN, declareTopology, names as namesOf } from "@herald/common/broker/topology";
import type { Service } from "@herald/common/service/run-service";
import type { RejectedEvent } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { serviceEnvironment, useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, connect, type Options } from "amqplib";
import { KEPT_OF_ORGANIZATION } from "../../src/inbox/rejections.ts";
import { startPublisher } from "../../src/index.ts";
import { INBOX_OPTIONS, INBOX_TIME, validEvent } from "./use-inbox.ts";

const publishers: Service[] = [];
let connection: ChannelModel;
let channel: ConfirmChannel;
// Before database and broker look for connections that are left.
afterAll(async () => {
  await connection?.close();
  await Promise.all(publishers.map((each) => each.stop()));
});
const db = useDatabase();
const broker = useBroker();
const names = namesOf(broker.namespace);
const [inboxQueue = ""] = names.inboxQueues;

beforeAll(async () => {
  connection = await connect(broker.url);
  channel = await connection.createConfirmChannel();
  await declareTopology(channel, broker.namespace);
});

const EXPIRED = "its AMQP property expiration, or a policy's message-ttl, ran out before a publisher took it";
const FLOOD = 700;

function emit(content: Buffer | string, options: Options.Publish = {}): void {
  channel.publish(names.eventsExchange, "WorkItemCompleted.0.0", Buffer.from(content as string), {
    persistent: true,
    ...options,
  });
}

/** Does what publishers do that end while they handle a message: takes it again and again. */
async function reachDeliveryLimit(): Promise<void> {
  await eventually(async () => {
    const got = await channel.get(inboxQueue);
    if (got) channel.nack(got, false, true);
    expect(got).toBe(false);
  });
}

const depthOf = async (queue: string) => (await channel.checkQueue(queue)).messageCount;

test("an event that RabbitMQ takes out of the inbox is found by its id with the reason, has a notice, and is kept for a replay", async () => {
  const { prisma } = db.database;
  const organizationId = `acme-${randomUUID()}`;
  const expired = validEvent({ organizationId });
  const poison = validEvent({ organizationId, type: "RiskCreated", entityType: "Risk" });
  emit(JSON.stringify(poison), { headers: { "x-death": "forged" } });
  await channel.waitForConfirms();
  await reachDeliveryLimit();
  const expiration = "1";
  const forged = {
    "x-herald-reason": "forged",
    "x-first-death-reason": "constructor",
    "x-death": [{ reason: "forged" }],
  };
  emit(JSON.stringify(expired), { expiration, headers: { ...forged, traceparent: "t" } });
  emit("{", { expiration });
  emit(Buffer.from([0xff, 0xfe]), { expiration });
  const flood = Array.from({ length: FLOOD }, () => validEvent({ organizationId: `flood-${organizationId}` }));
  for (const event of flood) emit(JSON.stringify(event), { expiration });
  await channel.waitForConfirms();
  await eventually(async () => expect(await depthOf(inboxQueue)).toBe(0));

  // At its start each publisher publishes what notices the other one has written by then.
  const { queue: published } = await channel.assertQueue("", { exclusive: true });
  await channel.bindQueue(published, names.noticesExchange, "#");
  const ports = [await freePort(), await freePort()];
  for (const port of ports) {
    const environment = { ...serviceEnvironment(db.url, broker), OPERATIONS_PORT: String(port) };
    publishers.push(await startPublisher(environment, INBOX_OPTIONS));
  }
  await Promise.all(publishers.map((each) => each.ready()));

  const all = FLOOD + 4;
  await eventually(async () => expect(await depthOf(names.rejectedQueue)).toBe(all));
  // Rules were broken by none of them, as far as RabbitMQ let a publisher see.
  await eventually(async () => {
    let count = 0;
    for (const port of ports) {
      const metrics = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: "close" } });
      count += Number(/herald_events_total\{result="set_aside"\S* (\d+)/.exec(await metrics.text())?.[1]);
    }
    expect(count).toBe(all);
  });
  const row = { organizationId, cause: "rejected", cameAt: INBOX_TIME };
  const rows = await prisma.undeliveredEvent.findMany({ where: { organizationId }, orderBy: { type: "asc" } });
  expect(rows).toEqual([
    { ...row, eventId: poison.id, type: "RiskCreated", reason: CAME_TOO_OFTEN },
    { ...row, eventId: expired.id, type: "WorkItemCompleted", reason: EXPIRED },
  ]);
  const ofFlood = await prisma.undeliveredEvent.count({ where: { organizationId: `flood-${organizationId}` } });
  expect(ofFlood).toBeGreaterThanOrEqual(KEPT_OF_ORGANIZATION);
  const notices = await prisma.notice.findMany({ where: { type: "eventRejected" } });
  const reasons = new Set(notices.map(({ details }) => (details as { reason: string }).reason));
  for (let got = await channel.get(published); got; got = await channel.get(published)) {
    reasons.add((JSON.parse(String(got.content)) as RejectedEvent).reason);
  }
  expect(reasons).toEqual(new Set([EXPIRED, CAME_TOO_OFTEN]));
  expect(await prisma.businessEvent.count()).toBe(0);

  const kept = new Map<string, Record<string, unknown>>();
  for (let got = await channel.get(names.rejectedQueue); got; got = await channel.get(names.rejectedQueue)) {
    kept.set(got.content.toString(), got.properties.headers ?? {});
  }
  expect(kept.size).toBe(all);
  expect(kept.get(JSON.stringify(expired))).toMatchObject({ traceparent: "t", "x-herald-reason": EXPIRED });
  expect(kept.get(JSON.stringify(poison))).toMatchObject({ "x-herald-reason": CAME_TOO_OFTEN });
});
