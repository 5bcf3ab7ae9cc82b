/** The names of the events (SPEC 6), as in `DEFAULT_CATALOGUE` of packages/contracts, which this package does not need. */
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

/** The body of an automatic event of one type (SPEC 2.4). Fields may be added to it. */
export interface EventOf<Type extends EventType> {
  /** The business event, not the delivery. */
  id: string;
  /** An event's exact name. */
  type: Type;
  /** When the event happened, not when it was sent: ISO 8601 with `Z`. */
  occurredAtUtc: string;
  /** The kind of entity, e.g. `WorkItem`. */
  entityType: string;
  entityId: string;
  /** Event-specific details; not a snapshot of the entity. */
  data: {
    /** The changed fields by their names; may be empty. */
    changes?: {
      [name: string]: {
        oldValue: string | null;
        newValue: string | null;
      };
    };
    [detail: string]: unknown;
  };
}

/** The body of an automatic event; its `type` says which one it is. */
export type HeraldEvent = { [Type in EventType]: EventOf<Type> }[EventType];
