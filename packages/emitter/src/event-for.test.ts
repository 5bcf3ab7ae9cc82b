import { DEFAULT_CATALOGUE, ENTITY_TYPES, type EntityType, EVENT_TYPES, type EventType } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { type EntityChange, eventFor } from "./event-for.ts";

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
