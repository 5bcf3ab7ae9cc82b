// Made by `pnpm run docs` of the schema and the samples in packages/contracts. Change those.

/** The names of the events (SPEC 6). */
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
  /** The entity. */
  entityId: string;
  /** Event-specific details; not a snapshot of the entity. */
  data: {
    /** The changed fields by their names; may be empty. */
    changes?: {
      [name: string]: {
        /** Before. */
        oldValue: string | null;
        /** After. */
        newValue: string | null;
      };
    };
    [detail: string]: unknown;
  };
}

/** The body of an automatic event; its `type` tells the others apart. */
export type HeraldEvent = { [Type in EventType]: EventOf<Type> }[EventType];

/** An event of each type, as receivers get it. */
export const SAMPLES: { readonly [Type in EventType]: EventOf<Type> } = {
  ProjectCreated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ProjectCreated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Project",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: {
      changes: {
        Name: {
          oldValue: null,
          newValue: "Harbour extension",
        },
      },
    },
  },
  ProjectUpdated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ProjectUpdated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Project",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: {
      changes: {
        Name: {
          oldValue: "Harbour extension",
          newValue: "Harbour extension, phase 2",
        },
      },
    },
  },
  WorkItemCompleted: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "WorkItemCompleted",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "WorkItem",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: {
      changes: {
        Status: {
          oldValue: "InProgress",
          newValue: "Done",
        },
      },
    },
  },
  ResourceAllocated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ResourceAllocated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "ResourceAllocation",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: {
      changes: {
        Hours: {
          oldValue: null,
          newValue: "40",
        },
      },
    },
  },
  TimesheetApproved: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "TimesheetApproved",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Timesheet",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: {
      changes: {
        Status: {
          oldValue: "Submitted",
          newValue: "Approved",
        },
      },
    },
  },
  RiskCreated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "RiskCreated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Risk",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: {
      changes: {
        Title: {
          oldValue: null,
          newValue: "Late permit",
        },
      },
    },
  },
  ChangeRequestApproved: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ChangeRequestApproved",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "ChangeRequest",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: {
      changes: {
        Status: {
          oldValue: "InReview",
          newValue: "Approved",
        },
      },
    },
  },
};
