import { gzipSync } from "node:zlib";
import { EVENT_TYPES, isEventType } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import fc, { type Arbitrary } from "fast-check";
import { INBOX_TIME, useInbox, validEvent, WINDOW_MS } from "../hostile/use-inbox.ts";

const MESSAGES = Number(process.env.FUZZ_MESSAGES ?? 10_000);
/** Always the same, so that a failure can be repeated. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_120);

/** All messages take some ten seconds on a quiet machine. */
const BUSY_MACHINE_MS = 600_000;

const inbox = useInbox();

test(
  `each of ${MESSAGES} mutated messages is stored, ignored, too old or set aside with a reason, and the next valid one is stored`,
  async () => {
    const sample = fc.sample(mutants, { seed: SEED, numRuns: MESSAGES });
    const confirms = sample.map(({ content, headers }, number) =>
      inbox.publish(content, { headers: { ...headers, number: String(number) } }),
    );
    await Promise.all(confirms);
    await eventually(
      async () => {
        const counts = await Promise.all([
          inbox.counted("received"),
          inbox.counted("stale"),
          inbox.counted("ignored"),
          inbox.counted("rejected"),
        ]);
        expect(counts.reduce((sum, count) => sum + count)).toBe(MESSAGES);
      },
      { timeoutMs: BUSY_MACHINE_MS, intervalMs: 250 },
    );
    await inbox.storeValid();

    const rejected = new Map<number, string>();
    for (const { content, properties } of await inbox.takeRejected(await inbox.counted("rejected"))) {
      const number = Number(properties.headers?.number);
      expect(rejected.has(number)).toBe(false);
      // toEqual goes byte by byte: thousands of these stop the process for so long that RabbitMQ takes its connection for dead.
      expect(sample[number]?.content.equals(content)).toBe(true);
      rejected.set(number, properties.headers?.["x-herald-reason"]);
    }
    expect([...rejected.values()].filter((reason) => typeof reason !== "string" || reason.length < 10)).toEqual([]);

    const kept = sample.filter((_, number) => !rejected.has(number)).map(({ content }) => parse(content));
    const ignored = kept.filter(({ type }) => !isEventType(type));
    const delivered = kept.filter(({ type }) => isEventType(type));
    const stale = delivered.filter(isStale);
    const stored = new Set(delivered.filter((event) => !isStale(event)).map(keyOf));
    const rows = await inbox.prisma.businessEvent.findMany({
      select: { organizationId: true, id: true, occurredAt: true, body: true },
    });
    // One more for the valid event above.
    expect(rows).toHaveLength(stored.size + 1);
    const rowKeys = new Set(rows.map((row) => keyOf({ ...row, occurredAtUtc: row.occurredAt.toISOString() })));
    expect([...stored].filter((key) => !rowKeys.has(key))).toEqual([]);
    for (const { body } of rows) expect(Object.keys(JSON.parse(body))).toEqual(FIELDS_SENT);

    expect(await inbox.counted("rejected")).toBe(rejected.size);
    expect(await inbox.counted("ignored")).toBe(ignored.length);
    expect(await inbox.counted("stale")).toBe(stale.length);
    expect(await inbox.counted("received")).toBe(MESSAGES - rejected.size - ignored.length - stale.length + 1);
    // A test of mutants that are all refused, or all harmless, would show nothing.
    for (const count of [rejected.size, ignored.length, stored.size]) expect(count).toBeGreaterThan(MESSAGES / 200);
    expect(stale).not.toEqual([]);
    for (const queue of inbox.names.eventQueues) {
      expect((await inbox.channel.checkQueue(queue)).messageCount).toBe(0);
    }
    expect(({} as Record<string, unknown>).type).toBeUndefined();
  },
  2 * BUSY_MACHINE_MS,
);

const FIELDS_SENT = ["id", "type", "occurredAtUtc", "entityType", "entityId", "data"];

type Kept = { organizationId: string; id: string; occurredAtUtc: string; type?: unknown };
const keyOf = ({ organizationId, id, occurredAtUtc }: Kept) =>
  `${organizationId} ${id.toLowerCase()} ${Date.parse(occurredAtUtc)}`;
const isStale = ({ occurredAtUtc }: Kept) => Date.parse(occurredAtUtc) < INBOX_TIME.getTime() - WINDOW_MS;

/** Strict: a message that can't be read must not be among those that were kept. */
function parse(content: Buffer): Kept {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
}

interface Mutant {
  content: Buffer;
  headers: Record<string, unknown>;
}

/** JSON texts to put in the place of others. */
const JUNK = [
  "null",
  "true",
  "-1",
  "1e400",
  "12345678901234567890",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"x"',
  `"${"x".repeat(300)}"`,
  "[]",
  "{}",
  '{"__proto__":{"type":"RiskCreated"}}',
  '{"constructor":{"prototype":{"id":1}}}',
  `${"[".repeat(500)}${"]".repeat(500)}`,
  '"2026-02-30T00:00:00Z"',
  '"9999-12-31T23:59:59.999Z"',
  '"2026-02-01T00:00:00Z"',
  '"00000000-0000-0000-0000-000000000000"',
  '"*"',
  '{"changes":{"A":{"oldValue":1,"newValue":null}}}',
  '{"changes":{"__proto__":{"oldValue":null,"newValue":"y"}}}',
  ...EVENT_TYPES.map((type) => JSON.stringify(type)),
  '"ProjectRenamed"',
];
const FIELDS = ["organizationId", "id", "type", "occurredAtUtc", "entityType", "entityId", "data"] as const;
const KEYS = [...FIELDS, "__proto__", "constructor", "toString", "extra", "", "Data", "d\\u0061ta"];

/** An event as its members' JSON texts: so that a name may stand twice, which no object can have. */
type Members = [name: string, json: string][];
type Change<T> = (value: T) => T;

const junk = fc.constantFrom(...JUNK);
const replaced = fc.tuple(fc.nat(6), junk).map(
  ([at, json]): Change<Members> =>
    (members) =>
      members.map(([name, old], index) => [name, index === at ? json : old]),
);
const inserted = fc.tuple(fc.nat(7), fc.constantFrom(...KEYS), junk).map(
  ([at, name, json]): Change<Members> =>
    (members) =>
      members.toSpliced(at, 0, [name, json]),
);
const structural: Arbitrary<Change<Members>> = fc.oneof(
  fc.nat(6).map(
    (at): Change<Members> =>
      (members) =>
        members.filter((_, index) => index !== at),
  ),
  replaced,
  replaced,
  inserted,
  fc.constantFrom<Change<Members>>(
    (members) => members.toReversed(),
    (members) => [...members, ...members],
  ),
);

/** Replaces `length` bytes by others, from a place on that is taken modulo the length of the content. */
const spliced = (length: Arbitrary<number>, more: Arbitrary<Uint8Array>) =>
  fc.tuple(fc.nat(), length, more).map(
    ([at, length, more]): Change<Buffer> =>
      (content) => {
        const cut = at % (content.length + 1);
        return Buffer.concat([content.subarray(0, cut), more, content.subarray(cut + length)]);
      },
  );
const bytes: Arbitrary<Change<Buffer>> = fc.oneof(
  spliced(fc.constant(1), fc.uint8Array({ minLength: 1, maxLength: 1 })),
  spliced(fc.constant(0), fc.uint8Array({ minLength: 1, maxLength: 8 })),
  spliced(fc.constantFrom(1, 10, 40, 1_000), fc.constant(new Uint8Array())),
  fc.constantFrom<Change<Buffer>>(
    (content) => Buffer.from(content.toString(), "utf16le"),
    (content) => Buffer.concat([Buffer.from("\ufeff"), content]),
    (content) => gzipSync(content),
    (content) => Buffer.concat([content, content]),
  ),
);

const headers: Arbitrary<Record<string, unknown>> = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, unknown>>(
      { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
      { traceparent: "00-00000000000000000000000000000000-0000000000000000-00" },
      { traceparent: [1] },
      { "x-herald-reason": "mine", "x-death": [{ count: 99 }], "x-delivery-count": 99 },
      { text: "x".repeat(9_000), inside: { a: { b: [null, 1, "c"] } } },
    ),
  },
);

/** Valid events, an id each, most of them changed once or more: in their structure, in their bytes, or in both. */
const mutants: Arbitrary<Mutant> = fc
  .record({
    id: fc.uuid(),
    structural: fc.array(structural, { maxLength: 2 }),
    bytes: fc.oneof(
      { weight: 2, arbitrary: fc.constant<Change<Buffer>[]>([]) },
      { weight: 1, arbitrary: fc.array(bytes, { minLength: 1, maxLength: 3 }) },
    ),
    headers,
  })
  .map((made) => {
    const event = Object.entries(validEvent({ id: made.id }));
    const members = event.map(([name, value]): [string, string] => [name, JSON.stringify(value)]);
    const changed = made.structural.reduce((value, change) => change(value), members);
    const text = `{${changed.map(([name, json]) => `"${name}":${json}`).join(",")}}`;
    const content = made.bytes.reduce<Buffer>((value, change) => change(value), Buffer.from(text));
    return { content, headers: made.headers };
  });
