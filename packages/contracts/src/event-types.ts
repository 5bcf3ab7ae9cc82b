/** The events that an endpoint can subscribe to, and that Herald delivers: exactly these names, no wildcards (SPEC 6). */
export const EVENT_TYPES = [
  "ProjectCreated",
  "ProjectUpdated",
  "WorkItemCompleted",
  "ResourceAllocated",
  "TimesheetApproved",
  "RiskCreated",
  "ChangeRequestApproved",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

const names: ReadonlySet<string> = new Set(EVENT_TYPES);

export function isEventType(name: unknown): name is EventType {
  return typeof name === "string" && names.has(name);
}

/** The kinds of entity that events are about, as `entityType` names them (SPEC 1, 2.4). */
export const ENTITY_TYPES = [
  "Project",
  "WorkItem",
  "ResourceAllocation",
  "Timesheet",
  "Risk",
  "ChangeRequest",
] as const;

export type EntityType = (typeof ENTITY_TYPES)[number];

/** What each event is about. */
export const ENTITY_TYPE_OF: Readonly<Record<EventType, EntityType>> = {
  ProjectCreated: "Project",
  ProjectUpdated: "Project",
  WorkItemCompleted: "WorkItem",
  ResourceAllocated: "ResourceAllocation",
  TimesheetApproved: "Timesheet",
  RiskCreated: "Risk",
  ChangeRequestApproved: "ChangeRequest",
};
