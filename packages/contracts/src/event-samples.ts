import type { EventPayload, FieldChange } from "./business-event.ts";
import { ENTITY_TYPE_OF, type EventType } from "./event-types.ts";

const created = (fields: Record<string, string>): Record<string, FieldChange> =>
  Object.fromEntries(Object.entries(fields).map(([name, newValue]) => [name, { oldValue: null, newValue }]));

const changes: Readonly<Record<EventType, Record<string, FieldChange>>> = {
  ProjectCreated: created({ Name: "Harbour extension" }),
  ProjectUpdated: { Name: { oldValue: "Harbour extension", newValue: "Harbour extension, phase 2" } },
  WorkItemCompleted: { Status: { oldValue: "InProgress", newValue: "Done" } },
  ResourceAllocated: created({ Hours: "40" }),
  TimesheetApproved: { Status: { oldValue: "Submitted", newValue: "Approved" } },
  RiskCreated: created({ Title: "Late permit" }),
  ChangeRequestApproved: { Status: { oldValue: "InReview", newValue: "Approved" } },
};

/** A payload such as receivers get. The ids say at a glance that nothing of it is real. */
export function samplePayload(type: EventType): EventPayload {
  return {
    id: "00000000-0000-4000-8000-000000000001",
    type,
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: ENTITY_TYPE_OF[type],
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: changes[type] },
  };
}
