import { MAX_EVENT_BYTES } from "@herald/contracts";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { createEarly } from "../arrival/early.ts";
import { bundleEntry, unbundle } from "./move-behind.ts";
import { type Message, organizationOf } from "./read-event.ts";

const bundle = (...messages: Message[]) => Buffer.concat(messages.map(bundleEntry));

test("a bundle has the bytes and the texts among the headers of its events as they were (property)", () => {
  const message = fc.record({
    content: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    headers: fc.dictionary(fc.constantFrom("traceparent", "note", "Übermut"), fc.string()),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
      const read = unbundle(bundle(...messages));
      expect(read.map(({ content }) => content.toString("hex"))).toEqual(
        messages.map(({ content }) => content.toString("hex")),
      );
      expect(read.map(({ headers }) => headers)).toEqual(messages.map(({ headers }) => ({ ...headers })));
    }),
  );
});

test("headers that instruct RabbitMQ do not come along", () => {
  const message = { content: Buffer.from("x"), headers: { CC: ["everywhere"], bcc: "everywhere", traceparent: "t" } };
  expect(unbundle(bundle(message))).toEqual([{ content: Buffer.from("x"), headers: { traceparent: "t" } }]);
});

test("bytes that are no bundle are refused", () => {
  const whole = bundle({ content: Buffer.from("event"), headers: {} });
  for (let bytes = 1; bytes < whole.byteLength; bytes++) expect(() => unbundle(whole.subarray(0, bytes))).toThrow();
  expect(() => unbundle(Buffer.from('{"organizationId":"acme"}'))).toThrow();
});

const read = (text: string) => organizationOf(Buffer.from(text));

test.each([
  ['{"organizationId":"acme","id":"1"}', "acme"],
  ['\ufeff { "data" : {"organizationId":"other"} , "organizationId" : "acme" }', "acme"],
  ['{"organiz\\u0061tionId":"\\u0061cme"}', "acme"],
  ['{"organizationId":"Übermut","data":"\\"}"}', "Übermut"],
])("the organization of %s is %s", (text, organization) => expect(read(text)).toBe(organization));

test.each([
  ["none", '{"id":"1","data":{"organizationId":"acme"}}'],
  ["no string", '{"organizationId":7}'],
  ["an object", '{"organizationId":{"a":"b"}}'],
  ["half a text", '{"organizationId":"acm'],
  ["half a member", '{"organizationId"'],
  ["a name without a value, behind others", '"x","y"{"organizationId"'],
  ["a broken escape", '{"\\x":1,"organizationId":"acme"}'],
  ["nothing", ""],
  ["a list", '["organizationId","acme"]'],
  ["an id that is too long", `{"organizationId":"${"x".repeat(2_000)}"}`],
  ["an event that is too large", `{"organizationId":"acme","data":"${"x".repeat(MAX_EVENT_BYTES)}"}`],
])("a message with %s shares its turns with others that can't be read", (_name, text) => expect(read(text)).toBe(""));

test("reading an organization ends, whatever the bytes (property)", () => {
  const pieces = fc.constantFrom("{", "}", "[", "]", '"', "\\", ":", ",", " ", "a", '"organizationId"', '"b"', "1");
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      expect(typeof read(parts.join(""))).toBe("string");
    }),
    { numRuns: 2_000 },
  );
});

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

function earlyEvents({ most = 100 } = {}) {
  const gone: [number, number][] = [];
  const options = { most, storedAfterMs: { least: 100, most: 150 }, togetherMs: 90 };
  const early = createEarly<number>((item) => gone.push([item, performance.now()]), options);
  return { early, gone };
}

test("the oldest event goes on with all that have waited long enough, and the others wait for their own time", () => {
  const { early, gone } = earlyEvents();
  early.add(1);
  jest.advanceTimersByTime(60);
  early.add(2);
  jest.advanceTimersByTime(60);
  early.add(3);
  jest.advanceTimersByTime(1_000);
  expect(gone).toEqual([
    [1, 190],
    [2, 190],
    [3, 310],
  ]);
});

test("dropped events do not go on", () => {
  const { early, gone } = earlyEvents();
  early.add(1);
  expect(early.drop()).toEqual([1]);
  jest.advanceTimersByTime(1_000);
  early.add(2);
  jest.advanceTimersByTime(1_000);
  expect(gone.map(([item]) => item)).toEqual([2]);
});

test("there is room again when an event on its way is over, stored or dropped", async () => {
  const { early } = earlyEvents({ most: 2 });
  let rooms = 0;
  const ask = () => void early.room().then(() => rooms++);
  for (const item of [1, 2, 3]) early.add(item);
  ask();
  ask();
  early.over(1);
  await Promise.resolve();
  expect(rooms).toBe(0);
  early.over(3);
  await Promise.resolve();
  await Promise.resolve();
  expect(rooms).toBe(2);
  expect([1, 2, 3].map(early.has)).toEqual([false, true, false]);
});

/** How long the first of some events waits. */
function waitOf({ early, gone }: ReturnType<typeof earlyEvents>, items: readonly number[]): number {
  const sinceMs = performance.now();
  gone.length = 0;
  for (const item of items) early.add(item);
  jest.advanceTimersByTime(1_000);
  return (gone[0] as [number, number])[1] - sinceMs;
}

test("a crowd with events that have no result in time waits longer, within bounds, and gradually shorter again", () => {
  const world = earlyEvents({ most: 1 });
  const { early } = world;
  const crowd = [1];
  expect(waitOf(world, crowd)).toBe(130);
  early.stored({ count: 100, late: 2 });
  expect(waitOf(world, crowd)).toBe(130);
  early.stored({ count: 100, late: 3 });
  expect(Math.round(waitOf(world, crowd))).toBe(140);
  for (let more = 0; more < 100; more++) early.stored({ count: 100, late: 100 });
  expect(waitOf(world, crowd)).toBe(180);
  for (let more = 0; more < 1_000; more++) early.stored({ count: 100, late: 0 });
  expect(waitOf(world, crowd)).toBe(130);
});

test("few events on their way do not wait longer if some have no result in time: a receiver is slow", () => {
  const world = earlyEvents({ most: 4 });
  expect(waitOf(world, [1])).toBe(190);
  for (let more = 0; more < 100; more++) world.early.stored({ count: 1, late: 1 });
  expect(waitOf(world, [1])).toBe(190);
});
