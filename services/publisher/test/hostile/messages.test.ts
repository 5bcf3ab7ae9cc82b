import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { MAX_EVENT_BYTES } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import type { ConsumeMessage } from "amqplib";
import { nestedLists, nestedTables, publishWith, withConnection } from "./amqp-frames.ts";
import { useInbox, validEvent } from "./use-inbox.ts";

const inbox = useInbox();

const text = (override: object = {}) => JSON.stringify({ ...validEvent(), ...override });
/** A valid event whose data is exactly this JSON. */
const withData = (data: string) => text({ data: {} }).replace(/"data":\{\}/, `"data":${data}`);
/** A valid event of exactly this many bytes. */
function sized(bytes: number): string {
  const envelope = Buffer.byteLength(text({ data: { text: "" } }));
  return text({ data: { text: "x".repeat(bytes - envelope) } });
}
const brackets = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** Some breaches of the contract; read-event.test.ts and packages/contracts have the others. */
const REJECTED: Record<string, [content: Buffer | string, reason: RegExp]> = {
  "no bytes": ["", /not valid JSON/],
  "a megabyte": [sized(1024 * 1024), /at most 262144/],
  "100,000 brackets that don't close": [`{"type":"RiskCreated","data":${"[".repeat(100_000)}`, /not valid JSON/],
  gzip: [gzipSync(text()), /UTF-8/],
  "a name that steers terminals": [
    withData('{"changes":{"a\\u001b[2J\\r\\n\\u202e\\u2028":7}}'),
    /^\/data\/changes\/a \[2J {4}[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u,
  ],
};

test.each(Object.keys(REJECTED))("an event is rejected with a reason: %s", async (name) => {
  const [content, reason] = REJECTED[name] as [Buffer | string, RegExp];
  await inbox.publish(content);
  const rejected = await inbox.takeRejected(1);
  const sent = Buffer.from(content as string);
  // By Buffer's own comparison: jest compares byte by byte, which takes a minute for a megabyte.
  expect(rejected.map(({ content: kept }) => kept.equals(sent))).toEqual([true]);
  expect(rejected[0]?.properties.headers?.["x-herald-reason"]).toMatch(reason);
  await inbox.storeValid();
});

const STORED: Record<string, string> = {
  "exactly the limit": sized(MAX_EVENT_BYTES),
  "data nested 100,000 deep": withData(`{"a":${brackets(100_000)}}`),
  "a mark of UTF-8 in front": `\ufeff${text()}`,
  "numbers beyond JavaScript's": withData('{"n":1e400,"m":-0,"o":0.1000000000000000055511151231257827}'),
  "fields twice, the last ones right": `{"id":7,"type":{},"data":[],${text().slice(1)}`,
  "changes of prototypes": withData('{"changes":{"__proto__":{"oldValue":null,"newValue":"x"}}}'),
  "escaped NUL and lone surrogates in data": withData('{"a":"\\u0000\\ud800\\udfff"}'),
  "escaped NUL in the kind of entity": text({ entityType: "a\u0000b" }),
  "an organization of SQL": text({ organizationId: "'; drop table business_event; --" }),
  "an organization of 128 emoji": text({ organizationId: "\u{1f600}".repeat(128) }),
};

test.each(Object.keys(STORED))("an event is stored: %s", async (name) => {
  const content = STORED[name] as string;
  const event = JSON.parse(content.replace(/^\ufeff/, "")) as { id: string; data: unknown };
  await inbox.publish(content);
  await inbox.storeValid();
  // The valid one may be stored before it, since two statements run at once.
  const row = await eventually(() => inbox.prisma.businessEvent.findFirstOrThrow({ where: { id: event.id } }));
  // Receivers get the emitter's data unchanged.
  expect(content).toContain(row.body.slice(row.body.indexOf('"data":') + 7, -1));
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(await inbox.takeRejected(0)).toEqual([]);
});

test("an event of the year 1 is counted as stale, neither stored nor rejected", async () => {
  const before = await inbox.counted("stale");
  const event = validEvent({ occurredAtUtc: "0001-01-01T00:00:00Z" });
  await inbox.publish(JSON.stringify(event));
  await eventually(async () => expect(await inbox.counted("stale")).toBe(before + 1));
  expect(await inbox.prisma.businessEvent.count({ where: { id: event.id } })).toBe(0);
  expect(await inbox.takeRejected(0)).toEqual([]);
});

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
