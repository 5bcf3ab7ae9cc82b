import { expect, test } from "@jest/globals";
import { EVENT_TYPES, type HeraldEvent, SAMPLES } from "./events.ts";
import { readEvent } from "./read-event.ts";

const sample = SAMPLES.WorkItemCompleted;

test.each(EVENT_TYPES)("the sample of %s is an event", (type) => {
  expect(readEvent(SAMPLES[type])).toBe(SAMPLES[type]);
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
  ["an event of a type that is not known", { ...sample, type: "InvoicePaid" }],
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

test("the type of an event tells its data apart", () => {
  // The compiler checks this one: in each branch the event is of that type alone.
  const describe = (event: HeraldEvent): string => {
    switch (event.type) {
      case "WorkItemCompleted": {
        const type: "WorkItemCompleted" = event.type;
        return `${type} ${event.data.changes?.Status?.newValue}`;
      }
      default:
        return event.type satisfies Exclude<HeraldEvent["type"], "WorkItemCompleted">;
    }
  };
  expect(describe(sample)).toBe("WorkItemCompleted Done");
  expect(describe(SAMPLES.RiskCreated)).toBe("RiskCreated");
});
