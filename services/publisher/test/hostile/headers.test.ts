import { randomUUID } from "node:crypto";
import { expect, test } from "@jest/globals";
import type { ConsumeMessage } from "amqplib";
import { nestedLists, nestedTables, publishWith, withConnection } from "./amqp-frames.ts";
import { useInbox, validEvent } from "./use-inbox.ts";

const inbox = useInbox();
const BROKEN = "not JSON";
const reasonOf = (message: ConsumeMessage | undefined) => message?.properties.headers?.["x-herald-reason"];

// RabbitMQ routes a message also to what CC and BCC name. A rejected event is published with Herald's rights through the
// default exchange, where they name queues: with the emitter's headers on it, an emitter, who may publish events and
// nothing else, could write into any queue, and set a message going round between inbox and rejected queue for ever.
test("regression: CC and BCC of a rejected event lead to no other queue", async () => {
  const { names, channel } = inbox;
  const { queue: elsewhere } = await channel.assertQueue(`${names.rejectedQueue}-elsewhere`, { exclusive: true });
  const queues = [...names.inboxQueues, elsewhere];
  await inbox.publish(BROKEN, { headers: { CC: queues, "x-kept": "text" } });
  await inbox.publish(BROKEN, { CC: queues });
  await inbox.publish(BROKEN, { BCC: queues });
  expect(await inbox.takeRejected(3)).toHaveLength(3);
  await inbox.storeValid();
  expect(await inbox.takeRejected(0)).toEqual([]);
  expect((await channel.checkQueue(elsewhere)).messageCount).toBe(0);
  await channel.deleteQueue(elsewhere);
});

// amqplib encodes headers into 64 KiB, and RabbitMQ wants them in one frame. A rejection that can't be published would be
// tried for 20 minutes, 20 times over, with its place in the prefetch taken: a thousand of them would stop the inbox.
test.each<[string, Record<string, unknown>]>([
  ["nearly 16 KiB of text", { text: "x".repeat(16_000) }],
  ["many", Object.fromEntries(Array.from({ length: 700 }, (_, index) => [`header-${index}`, "value"]))],
  ["a table in a table, 1,000 times", { table: nested(1_000, (inner) => ({ a: inner })) }],
  ["a list in a list, 1,000 times", { list: nested(1_000, (inner) => [inner]) }],
  ["a reason of the emitter's own", { "x-herald-reason": "all is well" }],
  ["names of prototypes", JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')],
  [
    "every kind of value",
    {
      date: { "!": "timestamp", value: 1e15 },
      decimal: { "!": "decimal", value: { places: 255, digits: 4_294_967_295 } },
      bytes: Buffer.from([0, 255, 0]),
      long: { "!": "long", value: "9223372036854775807" },
      float: { "!": "float", value: 1e38 },
      double: Number.MAX_VALUE,
      nothing: null,
      flag: true,
      "": "",
    },
  ],
])(
  "an event with headers of %s is rejected for what is wrong with it, and holds up nothing",
  async (_name, headers) => {
    await inbox.publish(BROKEN, { headers });
    const [rejected, ...more] = await inbox.takeRejected(1);
    expect(more).toEqual([]);
    expect(rejected?.content.toString()).toBe(BROKEN);
    expect(reasonOf(rejected)).toMatch(/not valid JSON/);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    await inbox.publish(JSON.stringify(validEvent()), { headers });
    await inbox.storeValid();
  },
);

test.each<[string, object]>([
  ["another content type", { contentType: "text/html" }],
  ["all properties", { messageId: "x".repeat(255), correlationId: "\u0000", replyTo: "nowhere", type: "" }],
  ["no persistence", { persistent: false, priority: 255 }],
])("an event with %s is stored: the body says what it is", async (_name, options) => {
  const event = validEvent();
  await inbox.publish(JSON.stringify(event), options, randomUUID());
  await inbox.storeValid();
  expect(await inbox.prisma.businessEvent.count({ where: { id: event.id } })).toBe(1);
});

// Another client can write what amqplib can't: nothing but nesting, in as large a frame as deploy/docker/rabbitmq.conf allows.
// RabbitMQ's own limit of 128 KiB takes 25,000 lists, which amqplib can't read: each such message would end the
// publisher's connection, twenty times over, and take all that it holds with it.
test("headers nested as deep as a frame of 16 KiB can hold do not end the publisher's connection", async () => {
  await withConnection(inbox.url, async (connection) => {
    const channel = await connection.createConfirmChannel();
    for (const table of [nestedLists(3_250), nestedTables(2_700)]) {
      const confirmed = new Promise((resolve) => channel.once("ack", resolve));
      publishWith({ connection, channel }, { exchange: inbox.names.eventsExchange, table, body: BROKEN });
      await confirmed;
      const [rejected] = await inbox.takeRejected(1);
      expect(reasonOf(rejected)).toMatch(/not valid JSON/);
      await inbox.storeValid();
    }
  });
});

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = "inside";
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
}
