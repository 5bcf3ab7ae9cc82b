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
