import { deepStrictEqual } from "node:assert";
import { eventKey } from "@herald/common/database/ids";
import { type BusinessEvent, judgeEvent, MAX_EVENT_BYTES } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { rawMember, readEvent } from "./read-event.ts";

const event: BusinessEvent = {
  organizationId: "org-1",
  id: "0190a1b2-0000-7000-8000-000000000001",
  type: "WorkItemCompleted",
  occurredAtUtc: "2026-03-01T12:00:00.123Z",
  entityType: "WorkItem",
  entityId: "0190a1b2-0000-7000-8000-0000000000aa",
  data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
};

const OCCURRED_AT = Date.parse(event.occurredAtUtc);
const HOUR_MS = 60 * 60_000;
const WINDOW_MS = 7 * 24 * HOUR_MS;

/** @param now when it is read; by default a second after the event */
function read(content: unknown, now = OCCURRED_AT + 1_000): ReturnType<typeof readEvent> {
  const bytes = Buffer.isBuffer(content)
    ? content
    : Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
  return readEvent(bytes, { traceparent: null, now: new Date(now), windowMs: WINDOW_MS });
}

function reasonOf(content: unknown): string {
  const reading = read(content);
  return reading.kind === "rejected" ? reading.reason : `not rejected but ${reading.kind}`;
}

test("§2.4/fields §9.2 a message that keeps the contract becomes the receivers' body: SPEC's fields in SPEC's order, and nothing else", () => {
  const { data, id, organizationId, ...rest } = event;
  const reading = read({ actor: "u-1", data, ...rest, schemaVersion: 3, organizationId, id });
  expect(reading.kind === "event" && reading.event.body).toBe(
    '{"id":"0190a1b2-0000-7000-8000-000000000001","type":"WorkItemCompleted",' +
      '"occurredAtUtc":"2026-03-01T12:00:00.123Z","entityType":"WorkItem",' +
      '"entityId":"0190a1b2-0000-7000-8000-0000000000aa",' +
      '"data":{"changes":{"Status":{"oldValue":"InProgress","newValue":"Done"}}}}',
  );
});

test("§2.4/data data goes out as it was written, with numbers that JavaScript can't hold", () => {
  const text = JSON.stringify(event).replace(/"data":.*/, '"data":{"cost":1.10, "big":12345678901234567890}}');
  const reading = read(text);
  expect(reading.kind === "event" && reading.event.body).toContain('"data":{"cost":1.10, "big":12345678901234567890}}');
});

test("§2.4/changes data.changes may be empty or absent", () => {
  expect(read({ ...event, data: {} }).kind).toBe("event");
  expect(read({ ...event, data: { changes: {} } }).kind).toBe("event");
  expect(read({ ...event, data: { changes: { Cost: { oldValue: null, newValue: "1.5" } }, more: [1] } }).kind).toBe(
    "event",
  );
});

test("§6/names a type that is no subscription's is ignored, whatever else it holds", () => {
  expect(read({ ...event, type: "ProjectRenamed" })).toEqual({ kind: "ignored", type: "ProjectRenamed" });
  expect(read({ type: "*" })).toEqual({ kind: "ignored", type: "*" });
});

test("§6.1/window an event of seven days ago is taken, and one a millisecond older is stale", () => {
  expect(read(event, OCCURRED_AT + WINDOW_MS).kind).toBe("event");
  expect(read(event, OCCURRED_AT + WINDOW_MS + 1)).toEqual({ kind: "stale" });
  expect(read({ ...event, occurredAtUtc: "0001-01-01T00:00:00Z" })).toEqual({ kind: "stale" });
});

test("an event an hour ahead is taken, and one further ahead is rejected, since a clock is wrong", () => {
  expect(read(event, OCCURRED_AT - HOUR_MS).kind).toBe("event");
  const reason = expect.stringContaining("/occurredAtUtc is more than an hour in the future");
  expect(read(event, OCCURRED_AT - HOUR_MS - 1)).toEqual({ kind: "rejected", reason, isInFuture: true });
  expect(read({ ...event, occurredAtUtc: "9999-12-31T23:59:59.999999999Z" })).toEqual({
    kind: "rejected",
    reason,
    isInFuture: true,
  });
});

test("regression: an event is in the future only by both clocks: PostgreSQL's may have been set back by hours", () => {
  const judge = (nowMs: number, aheadMs: number) =>
    judgeEvent(Buffer.from(JSON.stringify(event)), { now: new Date(nowMs), aheadMs, windowMs: WINDOW_MS }).kind;
  expect(judge(OCCURRED_AT - 3 * HOUR_MS, 3 * HOUR_MS)).toBe("event");
  expect(judge(OCCURRED_AT - 3 * HOUR_MS, HOUR_MS)).toBe("rejected");
  expect(judge(OCCURRED_AT - 3 * HOUR_MS, -3 * HOUR_MS)).toBe("rejected");
});

describe("an event's key", () => {
  const keyOf = (content: unknown) => {
    const reading = read(content);
    return reading.kind === "event" ? reading.event.key : reading;
  };

  test("an event has the same key whatever else it says, and however its id and time are written", () => {
    const key = eventKey(event.organizationId, event.id, new Date(event.occurredAtUtc));
    expect(keyOf(event)).toBe(key);
    const { data: _data, ...rest } = event;
    expect(keyOf({ data: {}, ...rest, type: "RiskCreated", id: event.id.toUpperCase() })).toBe(key);
    expect(keyOf({ ...event, occurredAtUtc: "2026-03-01T12:00:00.123999Z" })).toBe(key);
  });

  test("an event of another organization, id or time has another key", () => {
    const others = [
      { ...event, organizationId: "ORG-1" },
      { ...event, id: event.entityId },
      { ...event, occurredAtUtc: "2026-03-01T12:00:00.124Z" },
    ];
    expect(new Set([event, ...others].map(keyOf)).size).toBe(4);
  });

  test("ids are read in small letters, as PostgreSQL writes them", () => {
    const capitals = { ...event, id: event.id.toUpperCase(), entityId: event.entityId.toUpperCase() };
    expect(read(capitals)).toMatchObject({ kind: "event", event: { id: event.id, entityId: event.entityId } });
  });
});

const text = JSON.stringify(event);
const changes = Array.from({ length: 5_000 }, (_, index) => [`f${index}`, { oldValue: null, newValue: "1" }]);
const manyChanges = Object.fromEntries([...changes, ["last", 1]]);
/** An event of exactly this many bytes. */
const sized = (bytes: number) => ({ ...event, data: { text: "x".repeat(bytes - textOf("").length) } });
const textOf = (text: string) => JSON.stringify({ ...event, data: { text } });

// The rules of each field are shown by packages/contracts.
test.each<[string, unknown, string]>([
  ["not JSON", "{", "not valid JSON"],
  ["a list", [event], "must be an object"],
  ["no organization", { ...event, organizationId: undefined }, "organizationId"],
  ["one byte above the limit", sized(MAX_EVENT_BYTES + 1), "has 262145 bytes; at most 262144"],
  ["invalid UTF-8", Buffer.from([0x22, 0xc3, 0x28, 0x22]), "UTF-8"],
  ["UTF-8 of a lone surrogate", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), "UTF-8"],
  ["a raw NUL", text.replace("WorkItem", "Work\u0000Item"), "not valid JSON"],
  ["two events in a row", `${text}\n${text}`, "not valid JSON"],
  ["a second, broken data", text.replace(/\}$/, ',"data":7}'), "/data"],
  ["5,000 changes, the last of them broken", { ...event, data: { changes: manyChanges } }, "/data/changes/last"],
  ["100,000 brackets", `{"type":"RiskCreated","data":${"[".repeat(100_000)}}`, ""],
])("a message is rejected, with the reason: %s", (_name, content, expected) => {
  const reason = reasonOf(content);
  expect(reason).not.toMatch(/^not rejected/);
  expect(reason).toContain(expected);
});

test.each(['{"pin":1234 5678}', '{"pin":"12345678', '12345678"', '{"a":{"pin" 12345678}}', '["12345678",]'])(
  "regression: the reason for %s repeats nothing of it, since it is logged",
  (text) => expect(reasonOf(text)).not.toMatch(/1234|5678|pin/),
);

test.each([
  ['{"data":{}}', "{}"],
  ['{"a":1,"data":{"x":1.10,"y":12345678901234567890}}', '{"x":1.10,"y":12345678901234567890}'],
  ['{"data": {"a": "}\\"{,"} ,"b":[1,{"c":"]"}]}', '{"a": "}\\"{,"}'],
  ['{ "data" : [ ] , "data" : 2 }', "2"],
  ['{"d\\u0061ta":"escaped name"}', '"escaped name"'],
  ['\n{\t"x":{"data":1},\r\n"data":null}', "null"],
  ['{"x":"data","y":"\\\\","data":true}', "true"],
])("the raw member of %s is %s", (json, expected) => {
  expect(JSON.parse(json)).toHaveProperty("data");
  expect(rawMember(json, "data")).toBe(expected);
});

test("the raw member is the value that JSON.parse reads, whatever stands around it (property)", () => {
  // Not fast-check's own "binary": that makes a table of all of Unicode, which takes longer than the test.
  const character = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
  const key = fc.oneof(fc.constantFrom("data", "Data", "", "__proto__"), fc.string({ unit: character }));
  const members = fc.array(fc.tuple(key, fc.json(), fc.constantFrom("", " ", "\n\t")), { maxLength: 6 });
  fc.assert(
    fc.property(members, fc.json(), members, (before, value, after) => {
      const text = [...before, ["data", value, " "] as const, ...after]
        .map(([name, json, space]) => `${space}${JSON.stringify(name)}${space}:${space}${json}${space}`)
        .join(",");
      const object = `{${text}}`;
      deepStrictEqual(JSON.parse(rawMember(object, "data")), (JSON.parse(object) as { data: unknown }).data);
    }),
    { numRuns: 500 },
  );
});

test("rawMember throws if the member is missing", () => {
  expect(() => rawMember('{"x":{"data":1}}', "data")).toThrow('no member "data"');
});
