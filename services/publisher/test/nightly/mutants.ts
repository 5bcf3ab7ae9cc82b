import { gzipSync } from "node:zlib";
import { EVENT_TYPES } from "@herald/contracts";
import fc, { type Arbitrary } from "fast-check";
import { validEvent } from "../hostile/use-inbox.ts";

export interface Mutant {
  content: Buffer;
  headers: Record<string, unknown>;
}

/** JSON texts to put where something else belongs. */
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
const structural: Arbitrary<Change<Members>> = fc.oneof(
  { weight: 3, arbitrary: fc.nat(6).map((at) => (members: Members) => members.filter((_, index) => index !== at)) },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(6), junk).map(
      ([at, json]) =>
        (members: Members) =>
          members.map(([name, old], index): [string, string] => [name, index === at ? json : old]),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat(7), fc.constantFrom(...KEYS), junk).map(
      ([at, name, json]) =>
        (members: Members) =>
          members.toSpliced(at, 0, [name, json]),
    ),
  },
  { weight: 1, arbitrary: fc.constant((members: Members) => members.toReversed()) },
  { weight: 1, arbitrary: fc.constant((members: Members) => [...members, ...members]) },
);

const bytes: Arbitrary<Change<Buffer>> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => (content: Buffer) => {
      const changed = Buffer.from(content);
      if (changed.length > 0) changed[at % changed.length] = byte;
      return changed;
    }),
  },
  {
    weight: 2,
    arbitrary: fc.nat().map((at) => (content: Buffer) => content.subarray(0, at % (content.length + 1))),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 8 }))
      .map(([at, more]) => (content: Buffer) => {
        const cut = at % (content.length + 1);
        return Buffer.concat([content.subarray(0, cut), more, content.subarray(cut)]);
      }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(), fc.nat(40)).map(([at, length]) => (content: Buffer) => {
      const cut = at % (content.length + 1);
      return Buffer.concat([content.subarray(0, cut), content.subarray(cut + length)]);
    }),
  },
  { weight: 1, arbitrary: fc.constant((content: Buffer) => Buffer.from(content.toString(), "utf16le")) },
  { weight: 1, arbitrary: fc.constant((content: Buffer) => Buffer.concat([Buffer.from("\ufeff"), content])) },
  { weight: 1, arbitrary: fc.constant((content: Buffer) => gzipSync(content)) },
  { weight: 1, arbitrary: fc.constant((content: Buffer) => Buffer.concat([content, content])) },
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
export const mutants: Arbitrary<Mutant> = fc
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
