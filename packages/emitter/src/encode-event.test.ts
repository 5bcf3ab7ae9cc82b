import { MAX_EVENT_BYTES } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  type EmittedEvent,
  encodeEvent,
  InvalidEventError,
  newEvent,
  readEventJson,
  routingKey,
} from "./encode-event.ts";

const event: EmittedEvent = {
  organizationId: "acme",
  id: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111",
  type: "WorkItemCompleted",
  occurredAtUtc: "2025-11-20T15:00:00.000Z",
  entityType: "WorkItem",
  entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
  data: {
    changes: { Status: { oldValue: "In progress", newValue: "Done" }, Owner: { oldValue: null, newValue: "7" } },
  },
};

function fieldsOf(wrong: unknown): string[] {
  try {
    encodeEvent(wrong as EmittedEvent);
  } catch (error) {
    if (error instanceof InvalidEventError) return error.problems.map(({ field }) => field);
    throw error;
  }
  return [];
}

test("§2.4/fields the message holds the contract's fields, and no other", () => {
  expect(JSON.parse(encodeEvent({ ...event, actor: "user-7" } as EmittedEvent).toString())).toEqual(event);
});

test("a new event has an id of its own and happens now", () => {
  const before = Date.now();
  const made = newEvent({ organizationId: "acme", type: "RiskCreated", entityType: "Risk", entityId: event.entityId });
  expect(fieldsOf(made)).toEqual([]);
  expect(made.data).toEqual({});
  expect(Date.parse(made.occurredAtUtc)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(made.occurredAtUtc)).toBeLessThanOrEqual(Date.now());
  expect(newEvent(made, { undelivered: true })).toEqual(made);
});

describe("what the contract does not allow is refused by its field", () => {
  const change = (value: unknown) => ({ ...event, data: { changes: { Status: value } } });
  test.each<[string, unknown, string[]]>([
    ["null", null, ["event"]],
    ["no field at all", {}, ["organizationId", "id", "type", "occurredAtUtc", "entityType", "entityId", "data"]],
    ["a type that leaves no room for the bucket in a routing key", { ...event, type: "é".repeat(126) }, ["type"]],
    ["a time that is a Date", { ...event, occurredAtUtc: new Date() }, ["occurredAtUtc"]],
    [
      "§2.4/changes a value that is a number",
      change({ oldValue: null, newValue: 7 }),
      ["data.changes.Status.newValue"],
    ],
    ["§2.4/changes a change without its old value", change({ newValue: "7" }), ["data.changes.Status.oldValue"]],
    ["data that JSON can't hold", { ...event, data: { big: 1n } }, ["data"]],
  ])("%s is refused", (_title, wrong, fields) => {
    expect(fieldsOf(wrong)).toEqual(fields);
  });
});

test("an event has at most 256 KiB, to the byte", () => {
  const sized = (length: number) => ({ ...event, data: { text: "x".repeat(length) } });
  const room = MAX_EVENT_BYTES - encodeEvent(sized(0)).byteLength;
  expect(encodeEvent(sized(room)).byteLength).toBe(MAX_EVENT_BYTES);
  expect(fieldsOf(sized(room + 1))).toEqual(["data"]);
});

test("the error says all that is wrong, in words", () => {
  expect(() => encodeEvent({ ...event, id: "1", entityId: "2" })).toThrow(
    "the business event is not valid: id must be a UUID; entityId must be a UUID",
  );
});

test("§2.4/data an event that is JSON already is sent as it is written, with numbers that JavaScript can't hold", () => {
  const json = JSON.stringify(event).replace(/"data":.*/, '"data":{"cost":1.10, "big":12345678901234567890}}');
  const { body, event: read } = readEventJson(json);
  expect(body.toString()).toBe(json);
  expect(read.id).toBe(event.id);
});

test.each([
  ["not JSON", '{"id":', "event must be JSON"],
  [
    "too much",
    JSON.stringify({ ...event, data: { text: "x".repeat(MAX_EVENT_BYTES) } }),
    "an event has at most 262144",
  ],
])("JSON is refused as an event is: %s", (_title, json, message) => {
  expect(() => readEventJson(json)).toThrow(message);
});

test.each([
  ["org-1", "RiskCreated", "RiskCreated.c.2"],
  ["acme", "RiskCreated", "RiskCreated.8.2"],
  ["Zürich 😀", "WorkItemCompleted", "WorkItemCompleted.8.9"],
  ["org-1", "risk.created", "risk-created.c.2"],
])("the routing key for organization %s and type %s is %s", (organizationId, type, key) => {
  expect(routingKey({ organizationId, type })).toBe(key);
});

test("a routing key is three words, the last two of them hexadecimal digits (property)", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1 }), (organizationId, type) => {
      expect(routingKey({ organizationId, type })).toMatch(/^[^.]+\.[0-9a-f]\.[0-9a-f]$/s);
    }),
  );
});
