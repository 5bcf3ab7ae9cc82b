// Made by `pnpm run docs` of the samples in packages/contracts. Change those.
import type { EventOf, EventType } from "@herald/receiver";

/** An event of each type, as receivers get it. */
export const SAMPLES: { readonly [Type in EventType]: EventOf<Type> } = {
  ProjectCreated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ProjectCreated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Project",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: { Name: { oldValue: null, newValue: "Harbour extension" } } },
  },
  ProjectUpdated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ProjectUpdated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Project",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: { Name: { oldValue: "Harbour extension", newValue: "Harbour extension, phase 2" } } },
  },
  WorkItemCompleted: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "WorkItemCompleted",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "WorkItem",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
  },
  ResourceAllocated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ResourceAllocated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "ResourceAllocation",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: { Hours: { oldValue: null, newValue: "40" } } },
  },
  TimesheetApproved: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "TimesheetApproved",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Timesheet",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: { Status: { oldValue: "Submitted", newValue: "Approved" } } },
  },
  RiskCreated: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "RiskCreated",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "Risk",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: { Title: { oldValue: null, newValue: "Late permit" } } },
  },
  ChangeRequestApproved: {
    id: "00000000-0000-4000-8000-000000000001",
    type: "ChangeRequestApproved",
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: "ChangeRequest",
    entityId: "00000000-0000-4000-8000-000000000002",
    data: { changes: { Status: { oldValue: "InReview", newValue: "Approved" } } },
  },
};
