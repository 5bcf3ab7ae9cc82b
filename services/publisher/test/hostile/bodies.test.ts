import { gzipSync } from "node:zlib";
import { MAX_EVENT_BYTES } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
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
