import {
  ENTITY_TYPE_OF,
  EVENT_TYPES,
  type EventPayload,
  type EventType,
  type EventTypeInfo,
  type FieldChange,
} from "@herald/contracts";

interface About {
  emittedWhen: string;
  remark?: string;
  changes: Record<string, FieldChange>;
}

const created = (fields: Record<string, string>): Record<string, FieldChange> =>
  Object.fromEntries(Object.entries(fields).map(([name, newValue]) => [name, { oldValue: null, newValue }]));

/** SPEC section 6, in words for the admin who chooses events. */
const about: Record<EventType, About> = {
  ProjectCreated: {
    emittedWhen: "a project is created",
    changes: created({ Name: "Harbour extension" }),
  },
  ProjectUpdated: {
    emittedWhen: "currently not emitted for normal project edits",
    remark:
      "It can be selected, but normal project edits emit other internal events that can't be subscribed to. Manual " +
      "deliveries can use it.",
    changes: { Name: { oldValue: "Harbour extension", newValue: "Harbour extension, phase 2" } },
  },
  WorkItemCompleted: {
    emittedWhen: "a work item's status changes to Done",
    changes: { Status: { oldValue: "InProgress", newValue: "Done" } },
  },
  ResourceAllocated: {
    emittedWhen: "a resource allocation is created",
    changes: created({ Hours: "40" }),
  },
  TimesheetApproved: {
    emittedWhen: "a timesheet's status changes to Approved",
    changes: { Status: { oldValue: "Submitted", newValue: "Approved" } },
  },
  RiskCreated: {
    emittedWhen: "a project risk is created",
    changes: created({ Title: "Late permit" }),
  },
  ChangeRequestApproved: {
    emittedWhen: "a change request's status changes to Approved",
    changes: { Status: { oldValue: "InReview", newValue: "Approved" } },
  },
};

export const eventTypes: EventTypeInfo[] = EVENT_TYPES.map((name) => ({
  name,
  emittedWhen: about[name].emittedWhen,
  remark: about[name].remark ?? null,
  sample: JSON.stringify(samplePayload(name), null, 2),
}));

/** The ids say at a glance that nothing of it is real. */
function samplePayload(type: EventType): EventPayload {
  return {
    id: "00000000-0000-4000-8000-000000000001",
    type,
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: ENTITY_TYPE_OF[type],
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: about[type].changes },
  };
}
