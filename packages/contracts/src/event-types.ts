import type { Schema } from "./json-schema.ts";

export interface EventTypeDefinition {
  /** The kind of entity that events of the type are about, as their `entityType` names it. */
  entityType: string;
  /** When it is emitted, in words for the admin who chooses events: "a project is created". */
  emittedWhen: string;
  /** A remark for admins, shown before they subscribe to it. */
  remark?: string;
  /** The `data` of such an event, as an example. */
  sample: Readonly<Record<string, unknown>>;
  /** A JSON Schema (2020-12) of its `data`, beside what every event's has to be. */
  dataSchema?: Schema;
}

/** The types of events that a Herald delivers, by their exact names. Every list of them has this order. */
export type Catalogue = Readonly<Record<string, EventTypeDefinition>>;

/** The catalogue of a Herald that was given none of its own: the events of SPEC 6. */
export const DEFAULT_CATALOGUE = {
  ProjectCreated: {
    entityType: "Project",
    emittedWhen: "a project is created",
    sample: { changes: { Name: { oldValue: null, newValue: "Harbour extension" } } },
  },
  ProjectUpdated: {
    entityType: "Project",
    emittedWhen: "currently not emitted for normal project edits",
    remark:
      "It can be selected, but normal project edits emit other internal events that can't be subscribed to. Manual " +
      "deliveries can use it.",
    sample: { changes: { Name: { oldValue: "Harbour extension", newValue: "Harbour extension, phase 2" } } },
  },
  WorkItemCompleted: {
    entityType: "WorkItem",
    emittedWhen: "a work item's status changes to Done",
    sample: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
  },
  ResourceAllocated: {
    entityType: "ResourceAllocation",
    emittedWhen: "a resource allocation is created",
    sample: { changes: { Hours: { oldValue: null, newValue: "40" } } },
  },
  TimesheetApproved: {
    entityType: "Timesheet",
    emittedWhen: "a timesheet's status changes to Approved",
    sample: { changes: { Status: { oldValue: "Submitted", newValue: "Approved" } } },
  },
  RiskCreated: {
    entityType: "Risk",
    emittedWhen: "a project risk is created",
    sample: { changes: { Title: { oldValue: null, newValue: "Late permit" } } },
  },
  ChangeRequestApproved: {
    entityType: "ChangeRequest",
    emittedWhen: "a change request's status changes to Approved",
    sample: { changes: { Status: { oldValue: "InReview", newValue: "Approved" } } },
  },
} as const satisfies Catalogue;

export type EventType = keyof typeof DEFAULT_CATALOGUE;

/** The names of the default catalogue's events (SPEC 6). */
export const EVENT_TYPES = Object.keys(DEFAULT_CATALOGUE) as [EventType, ...EventType[]];

/** The kinds of entity that the default catalogue's events are about, as `entityType` names them (SPEC 1, 2.4). */
export type EntityType = (typeof DEFAULT_CATALOGUE)[EventType]["entityType"];

export const ENTITY_TYPES: readonly EntityType[] = [
  ...new Set(Object.values(DEFAULT_CATALOGUE).map(({ entityType }) => entityType)),
];

/** Whether a catalogue has exactly this name; there are no wildcards (SPEC 6). */
export function isEventType(name: unknown, catalogue: Catalogue = DEFAULT_CATALOGUE): name is string {
  return typeof name === "string" && Object.hasOwn(catalogue, name);
}
