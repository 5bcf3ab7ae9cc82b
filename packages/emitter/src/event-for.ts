import type { EntityType, EventType } from "@herald/contracts";

/** Something that happened to an entity in a product service. */
export type EntityChange =
  | { entity: EntityType; change: "created" }
  | { entity: EntityType; change: "status"; from: string | null; to: string }
  | { entity: EntityType; change: "edited" };

interface Meaning {
  created?: EventType;
  reaches?: { status: string; event: EventType };
}

const meanings: Record<EntityType, Meaning> = {
  Project: { created: "ProjectCreated" },
  WorkItem: { reaches: { status: "Done", event: "WorkItemCompleted" } },
  ResourceAllocation: { created: "ResourceAllocated" },
  Timesheet: { reaches: { status: "Approved", event: "TimesheetApproved" } },
  Risk: { created: "RiskCreated" },
  ChangeRequest: { reaches: { status: "Approved", event: "ChangeRequestApproved" } },
};

/**
 * The event that a change means, or null if it means none (SPEC 6).
 *
 * A status counts only when it really changes: saving a work item that is Done already means nothing, and completing it
 * again after it was reopened is a new event. An entity that is created in its final status has not changed to it.
 * Edits of a project mean no supported event; `ProjectUpdated` can be subscribed to and is never the answer here.
 */
export function eventFor(change: EntityChange): EventType | null {
  const { created, reaches } = meanings[change.entity];
  switch (change.change) {
    case "created":
      return created ?? null;
    case "status":
      return reaches && change.to === reaches.status && change.from !== change.to ? reaches.event : null;
    case "edited":
      return null;
  }
}
