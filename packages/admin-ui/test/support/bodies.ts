import type { EventPayload, EventType } from "@herald/contracts";

const projects = ["Harbour extension", "Line 4 refit", "North depot", "Canal bridge", "Data centre B", "Clinic annex"];
const pick = (names: readonly string[], seed: number): string => names[seed % names.length] ?? "";

const made = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([name, newValue]) => [name, { oldValue: null, newValue }]));

const about: Record<EventType, (seed: number) => Pick<EventPayload, "entityType" | "data">> = {
  ProjectCreated: (seed) => ({ entityType: "Project", data: { changes: made({ Name: pick(projects, seed) }) } }),
  ProjectUpdated: (seed) => ({ entityType: "Project", data: { changes: made({ Phase: String(1 + (seed % 4)) }) } }),
  WorkItemCompleted: () => ({
    entityType: "WorkItem",
    data: {
      changes: {
        Status: { oldValue: "InProgress", newValue: "Done" },
        PercentComplete: { oldValue: "80", newValue: "100" },
      },
    },
  }),
  ResourceAllocated: (seed) => ({
    entityType: "ResourceAllocation",
    data: { changes: made({ Hours: String(8 + (seed % 5) * 8) }) },
  }),
  TimesheetApproved: (seed) => ({
    entityType: "Timesheet",
    data: {
      changes: {
        Status: { oldValue: "Submitted", newValue: "Approved" },
        TotalHours: { oldValue: null, newValue: `${36 + (seed % 6)}.5` },
      },
    },
  }),
  RiskCreated: () => ({ entityType: "Risk", data: { changes: made({ Title: "Late permit", Level: "High" }) } }),
  ChangeRequestApproved: () => ({
    entityType: "ChangeRequest",
    data: { changes: { Status: { oldValue: "InReview", newValue: "Approved" } } },
  }),
};

/** A business event's body as receivers get it (SPEC 2.4). */
export function bodyOf(seed: string, type: EventType, occurredMs: number): string {
  const { entityType, data } = about[type](Number.parseInt(seed.slice(-4), 16));
  const payload: EventPayload = {
    id: eventIdOf(seed),
    type,
    occurredAtUtc: new Date(occurredMs).toISOString(),
    entityType,
    entityId: entityIdOf(seed),
    data,
  };
  return JSON.stringify(payload);
}

export function eventIdOf(seed: string): string {
  return seed.replace(/.{4}$/, "00ee");
}

export function entityIdOf(seed: string): string {
  return seed.replace(/^.{8}/, "018f6c2a");
}
