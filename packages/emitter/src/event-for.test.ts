import { DEFAULT_CATALOGUE, ENTITY_TYPES, type EntityType, EVENT_TYPES, type EventType } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type EntityChange, eventFor } from "./event-for.ts";
import { uuidFor } from "./uuid-for.ts";

const statuses = [
  null,
  "Draft",
  "To do",
  "In progress",
  "Submitted",
  "Done",
  "done",
  "Approved",
  "Rejected",
  "constructor",
];

/** Every change that there is: each kind created, edited, and moved from each status to each. */
const everyChange: EntityChange[] = ENTITY_TYPES.flatMap((entity) => [
  { entity, change: "created" as const },
  { entity, change: "edited" as const },
  ...statuses.flatMap((from) =>
    statuses.flatMap((to) => (to === null ? [] : [{ entity, change: "status" as const, from, to }])),
  ),
]);

type Rule = (change: EntityChange) => EventType | null;
const creation =
  (event: EventType): Rule =>
  ({ change }) =>
    change === "created" ? event : null;
const changeTo =
  (status: string, event: EventType): Rule =>
  (change) =>
    change.change === "status" && change.to === status && change.from !== status ? event : null;

const rules: [string, EntityType, Rule][] = [
  ["ProjectCreated is a project's creation", "Project", creation("ProjectCreated")],
  ["WorkItemCompleted is a work item's change to Done", "WorkItem", changeTo("Done", "WorkItemCompleted")],
  ["ResourceAllocated is an allocation's creation", "ResourceAllocation", creation("ResourceAllocated")],
  ["TimesheetApproved is a timesheet's change to Approved", "Timesheet", changeTo("Approved", "TimesheetApproved")],
  ["RiskCreated is a risk's creation", "Risk", creation("RiskCreated")],
  [
    "ChangeRequestApproved is a change request's change to Approved",
    "ChangeRequest",
    changeTo("Approved", "ChangeRequestApproved"),
  ],
];

test.each(rules)("§6/emitted %s, and no other change of it means anything", (_title, entity, rule) => {
  for (const change of everyChange.filter((one) => one.entity === entity)) {
    expect({ change, event: eventFor(change) }).toEqual({ change, event: rule(change) });
  }
});

test("§6/project-updated ProjectUpdated is emitted for nothing, and each other event for something", () => {
  const events = new Set(everyChange.map(eventFor));
  expect(events).toEqual(new Set([null, ...EVENT_TYPES.filter((type) => type !== "ProjectUpdated")]));
});

test("§2.4/fields each event is about the kind of entity that the contract names for it", () => {
  for (const change of everyChange) {
    const event = eventFor(change);
    if (event !== null) expect([event, change.entity]).toEqual([event, DEFAULT_CATALOGUE[event].entityType]);
  }
});

test("§2.4/again a work item that is completed again after it was reopened is completed again", () => {
  expect(eventFor({ entity: "WorkItem", change: "status", from: "In progress", to: "Done" })).toBe("WorkItemCompleted");
});

// Made by Python's uuid.uuid5. Receivers hold such ids: these values may never change.
test.each([
  ["WorkItem", "4711", "00c4e2f3-32d0-593b-8409-5943b2180df6"],
  ["WorkItem", 4711, "00c4e2f3-32d0-593b-8409-5943b2180df6"],
  ["Project", "4711", "3045c3e0-7748-50b6-97ce-2eb33c71ad59"],
  ["WorkItem", "clx3k2a9d0001", "c6b7a91e-3c71-5b53-97a0-a3775406c162"],
  ["Risk", "Zürich 😀", "652afa9c-ded6-55a0-919e-8ca254c8b54e"],
])("the UUID for %s %s is %s", (kind, key, uuid) => {
  expect(uuidFor(kind, key)).toBe(uuid);
});

test("every kind and key has a UUID of version 5 of its own (property)", () => {
  const text = fc.string({ minLength: 1, unit: "grapheme" });
  fc.assert(
    fc.property(text, text, text, (kind, key, other) => {
      const uuid = uuidFor(kind, key);
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(uuidFor(kind, other) === uuid).toBe(other === key);
      expect(uuidFor(other, key) === uuid).toBe(other === kind);
    }),
  );
});

test("where kind ends and key begins makes a difference", () => {
  expect(uuidFor("Work", "Item7")).not.toBe(uuidFor("WorkItem", "7"));
});

test.each([
  ["", "empty"],
  [1.5, "no whole number"],
  [Number.NaN, "no whole number"],
  [2 ** 53, "no whole number"],
  ["a\ud800", "well-formed"],
])("%p is refused as a key", (key, message) => {
  expect(() => uuidFor("WorkItem", key)).toThrow(message);
});
