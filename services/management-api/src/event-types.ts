import { EVENT_TYPES, type EventType, type EventTypeInfo, samplePayload } from "@herald/contracts";

interface About {
  emittedWhen: string;
  remark?: string;
}

/** SPEC section 6, in words for the admin who chooses events. */
const about: Record<EventType, About> = {
  ProjectCreated: { emittedWhen: "a project is created" },
  ProjectUpdated: {
    emittedWhen: "currently not emitted for normal project edits",
    remark:
      "It can be selected, but normal project edits emit other internal events that can't be subscribed to. Manual " +
      "deliveries can use it.",
  },
  WorkItemCompleted: { emittedWhen: "a work item's status changes to Done" },
  ResourceAllocated: { emittedWhen: "a resource allocation is created" },
  TimesheetApproved: { emittedWhen: "a timesheet's status changes to Approved" },
  RiskCreated: { emittedWhen: "a project risk is created" },
  ChangeRequestApproved: { emittedWhen: "a change request's status changes to Approved" },
};

export const eventTypes: EventTypeInfo[] = EVENT_TYPES.map((name) => ({
  name,
  emittedWhen: about[name].emittedWhen,
  remark: about[name].remark ?? null,
  sample: JSON.stringify(samplePayload(name), null, 2),
}));
