import { randomUUID } from "node:crypto";
import { deliveryId, eventKey } from "@herald/common/database/ids";
import { eventually } from "@herald/dev/harness/eventually";
import { insertEndpoint, ownShards } from "@herald/dev/harness/rows";
import { afterEach, expect, test } from "@jest/globals";
import { refuseDeliveries } from "../given.ts";
import { INBOX_TIME, useInbox, validEvent } from "./use-inbox.ts";

const inbox = useInbox();
let stopRefusing: () => Promise<void> = async () => {};
afterEach(() => stopRefusing());

const createdAt = new Date(INBOX_TIME.getTime() - 1_000);

test("an event that PostgreSQL can't store in time waits, others are stored, and it is stored once it is possible", async () => {
  const { prisma, names } = inbox;
  const { id: lockedId, organizationId: locked } = await insertEndpoint(prisma, { createdAt });
  const { organizationId: other } = await insertEndpoint(prisma, { createdAt });
  stopRefusing = await refuseDeliveries(
    prisma,
    `exists (select from made where organization_id = '${locked}')`,
    "57014",
  );
  const waiting = validEvent({ organizationId: locked });
  await inbox.publish(JSON.stringify(waiting));
  const others = Array.from({ length: 50 }, () => validEvent({ organizationId: other }));
  await Promise.all(others.map((event) => inbox.publish(JSON.stringify(event))));
  await eventually(async () => expect(await prisma.delivery.count({ where: { organizationId: other } })).toBe(50));
  expect(await prisma.delivery.count({ where: { organizationId: locked } })).toBe(0);
  expect(await inbox.counted("rejected")).toBe(0);

  await stopRefusing();
  const key = eventKey(locked, waiting.id, INBOX_TIME);
  await eventually(
    async () => {
      const rows = await prisma.due.findMany({ where: { endpointId: lockedId } });
      expect(rows.map((row) => row.deliveryId)).toEqual([deliveryId(key, lockedId)]);
    },
    // The pauses between two tries grow up to half a minute.
    { timeoutMs: 100_000 },
  );
  await eventually(async () => expect(await inbox.counted("received")).toBe(51));
  expect((await inbox.channel.checkQueue(names.rejectedQueue)).messageCount).toBe(0);
});

test("a new delivery is handed over to its owner by a transient message, by the key of the owner's id", async () => {
  const { prisma, names, channel } = inbox;
  const owner = randomUUID();
  await ownShards(prisma, owner);
  const { queue } = await channel.assertQueue("", { exclusive: true, durable: false });
  await channel.bindQueue(queue, names.dispatchExchange, owner);
  const { id, organizationId } = await insertEndpoint(prisma, { createdAt });
  const event = validEvent({ organizationId });
  await inbox.publish(JSON.stringify(event));
  await eventually(async () => expect((await channel.checkQueue(queue)).messageCount).toBe(1));
  const message = await channel.get(queue, { noAck: true });
  if (message === false) throw new Error("There is no message.");
  const handOver = JSON.parse(message.content.toString());
  expect(handOver).toMatchObject({
    stored: true,
    events: [{ eventType: event.type, receivedAtUtc: INBOX_TIME.toISOString() }],
    deliveries: [{ endpointId: id, organizationId, revision: "1", readAtUtc: INBOX_TIME.toISOString(), event: 0 }],
    work: [],
  });
  expect(await prisma.due.count({ where: { endpointId: id } })).toBe(1);
  expect(message.properties.deliveryMode).toBe(1);
});
