import { expect, test } from "@jest/globals";
import { EVENT_TYPES, type EventOf } from "./events.ts";
import { readEvent } from "./read-event.ts";

const sample: EventOf<"WorkItemCompleted"> = {
  id: "00000000-0000-4000-8000-000000000001",
  type: "WorkItemCompleted",
  occurredAtUtc: "2026-01-31T12:00:00.000Z",
  entityType: "WorkItem",
  entityId: "00000000-0000-4000-8000-000000000002",
  data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
};

test.each(EVENT_TYPES)("%s is an event", (type) => {
  const event = { ...sample, type };
  expect(readEvent(event)).toBe(event);
});

test("events of a catalogue of one's own are events if its names are given, and only those", () => {
  interface InvoicePaid {
    type: "invoice.paid";
    data: { total: string };
  }
  const paid = { ...sample, type: "invoice.paid", data: { total: "7.00" } };
  expect(readEvent<InvoicePaid>(paid, ["invoice.paid"])?.data.total).toBe("7.00");
  expect(readEvent<InvoicePaid>(sample, ["invoice.paid"])).toBeNull();
});

test("§2.4/tolerant an event may have fields that are not known, at every depth", () => {
  const grown = {
    ...sample,
    schemaVersion: 2,
    data: { hours: 8, changes: { Status: { oldValue: null, newValue: "", by: 1 } } },
  };
  expect(readEvent(grown)).toBe(grown);
  expect(readEvent({ ...sample, data: {} })).not.toBeNull();
});

test.each<[string, unknown]>([
  ["nothing", undefined],
  ["null", null],
  ["a text", "WorkItemCompleted"],
  ["a list", [sample]],
  ["an event of a type that is not known", { ...sample, type: "NoSuchEvent" }],
  ["a type that every object has", { ...sample, type: "constructor" }],
  ["an event without an id", { ...sample, id: undefined }],
  ["an id that is no UUID", { ...sample, id: "7" }],
  ["an entity's id that is no UUID", { ...sample, entityId: null }],
  ["a time that is a number", { ...sample, occurredAtUtc: 1 }],
  ["data that is a list", { ...sample, data: [] }],
  ["changes that are a list", { ...sample, data: { changes: [] } }],
  ["a change with a number in it", { ...sample, data: { changes: { Hours: { oldValue: 1, newValue: "2" } } } }],
])("%s is no event", (_what, payload) => {
  expect(readEvent(payload)).toBeNull();
});
