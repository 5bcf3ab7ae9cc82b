import { expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import fc from "fast-check";
import type { BusinessEvent } from "./business-event.ts";
import { samplePayload } from "./event-samples.ts";
import { type Catalogue, EVENT_TYPES, isEventType } from "./event-types.ts";
import { eventFaults, judgeEvent } from "./judge-event.ts";
import { businessEventSchema } from "./schemas.ts";

const event: BusinessEvent = {
  organizationId: "acme",
  id: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111",
  type: "WorkItemCompleted",
  occurredAtUtc: "2025-11-20T15:00:00.000Z",
  entityType: "WorkItem",
  entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
  data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" }, Owner: { oldValue: null, newValue: "7" } } },
};
const options = { now: new Date("2025-11-20T15:00:01.000Z"), windowMs: 7 * 86_400_000 };
const judge = (value: unknown) => judgeEvent(Buffer.from(JSON.stringify(value)), options);

test("an event that keeps the contract is judged to be one, with its text as it was written", () => {
  const text = ` ${JSON.stringify(event).replace('"7"', '"\\u0037"')}\n`;
  expect(judgeEvent(Buffer.from(text), options)).toEqual({
    kind: "event",
    event,
    text,
    occurredAt: new Date(event.occurredAtUtc),
  });
});

test("§2.4/fields an event whose time has an offset is one, with its time in UTC", () => {
  const occurredAtUtc = "2025-11-20T16:00:00.000001+01:00";
  expect(judge({ ...event, occurredAtUtc })).toMatchObject({
    kind: "event",
    event: { occurredAtUtc: "2025-11-20T15:00:00.000001Z" },
    occurredAt: new Date(event.occurredAtUtc),
  });
});

test("a rejected event has the first reason, with the place as a JSON pointer", () => {
  expect(judge({ ...event, id: "7", entityId: "8" })).toEqual({ kind: "rejected", reason: "/id must be a UUID" });
  expect(judge([event])).toEqual({ kind: "rejected", reason: "the event must be an object" });
  const changes = { Cost: { oldValue: 1, newValue: null } };
  expect(judge({ ...event, data: { changes } })).toEqual({
    kind: "rejected",
    reason: "/data/changes/Cost/oldValue must be text or null, also where the value is a number",
  });
});

test("all faults of an event are found at once", () => {
  const changes = { Status: "Done", Cost: { newValue: 7 } };
  expect(eventFaults({ ...event, id: "1", data: { changes } }).map(({ path }) => path.join("."))).toEqual([
    "id",
    "data.changes.Status",
    "data.changes.Cost.oldValue",
    "data.changes.Cost.newValue",
  ]);
});

// One exception is half of a surrogate pair in an organization's id: event-schemas.test.ts shows it.
test("events are judged exactly as their schema says (property)", () => {
  const ajv = new Ajv({ allowUnionTypes: true });
  (addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
  const isValid = ajv.compile(businessEventSchema);
  const odd = fc.oneof(
    fc.string(),
    fc.constant("x".repeat(129)),
    fc.constant("😀".repeat(128)),
    fc.integer(),
    fc.constantFrom(null, undefined, [], {}),
    fc.object(),
  );
  const places = [...Object.keys(event), "data.changes", "data.changes.Status", "data.changes.Status.newValue"];
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...places), odd), { maxLength: 2 }), (damages) => {
      const damaged = structuredClone(event) as unknown as Record<string, unknown>;
      // A copy: a later damage would change a constant of the generator, and may put it into itself.
      for (const [path, value] of damages) set(damaged, path.split("."), structuredClone(value));
      // Through JSON, as in a message: it has no "undefined".
      const received: unknown = JSON.parse(JSON.stringify(damaged));
      expect(eventFaults(received).length === 0).toBe(isValid(received));
    }),
    { numRuns: 1_000 },
  );
});

function set(target: Record<string, unknown>, [head = "", ...rest]: string[], value: unknown): void {
  const inner = target[head];
  if (rest.length === 0) target[head] = value;
  else if (typeof inner === "object" && inner !== null) set(inner as Record<string, unknown>, rest, value);
}

test("§6/names only the exact names are event types", () => {
  for (const name of EVENT_TYPES) expect(isEventType(name)).toBe(true);
  for (const name of ["*", "", "riskcreated", "RiskCreated ", "Risk", "constructor", null, 7, ["RiskCreated"]]) {
    expect(isEventType(name)).toBe(false);
  }
});

test("an own catalogue has its own names, and no others", () => {
  const sample = { changes: {}, total: 7 };
  const own: Catalogue = { "invoice.paid": { entityType: "Invoice", emittedWhen: "an invoice is paid", sample } };
  expect(isEventType("invoice.paid", own)).toBe(true);
  for (const name of ["RiskCreated", "constructor", "invoice"]) expect(isEventType(name, own)).toBe(false);
  expect(samplePayload("invoice.paid", own)).toMatchObject({
    type: "invoice.paid",
    entityType: "Invoice",
    data: sample,
  });
  expect(() => samplePayload("RiskCreated", own)).toThrow("RiskCreated");
});
