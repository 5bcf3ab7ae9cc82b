import type { EventType } from "@herald/contracts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What has befallen a webhook; the tests ask for it by this. */
export type Story = "healthy" | "busy" | "disabled" | "failing" | "paused" | "new";

/** How a receiver answers. */
export interface Answer {
  statusCode: number;
  errorSummary: string | null;
  responseExcerpt: string | null;
  durationMs: number;
}

export interface Part {
  story?: Story;
  name: string;
  url: string;
  events: EventType[];
  /** Minutes between two deliveries, about, at the busiest time of the day. */
  everyMinutes: number | null;
  /** How it answers when all is well, about. */
  well: Answer;
  /** How it answers when not, and how often that happens to a delivery's first attempt. */
  ill: Answer;
  illness?: number;
  off?: { reason: "paused" | "failures"; agoMs: number };
  /** Deliveries that are not done yet: how long before the end they were created, and how often they have failed. */
  unfinished?: { agoMs: number; failures: number }[];
  /** How long before the end the others begin. */
  quietMs?: number;
}

const accepted = (durationMs: number): Answer => ({
  statusCode: 202,
  errorSummary: null,
  responseExcerpt: '{"accepted":true}',
  durationMs,
});
const empty = (durationMs: number): Answer => ({
  statusCode: 204,
  errorSummary: null,
  responseExcerpt: "",
  durationMs,
});
const timedOut: Answer = {
  statusCode: 503,
  errorSummary: "timed out after 15 s",
  responseExcerpt: null,
  durationMs: 15_000,
};
const overloaded: Answer = {
  statusCode: 429,
  errorSummary: "receiver answered 429",
  responseExcerpt: '{"message":"Too many requests"}',
  durationMs: 41,
};

/** The webhooks of an organization that has used them for a while. */
export const cast: Part[] = [
  {
    story: "healthy",
    name: "Billing mirror",
    url: "https://hooks.northpeak-finance.example/herald/v2",
    events: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved"],
    everyMinutes: 2,
    well: accepted(64),
    ill: timedOut,
    illness: 0.02,
  },
  {
    story: "disabled",
    name: "Chat bridge",
    url: "https://bridge.lumenchat.example/in/T02AB/herald",
    events: ["WorkItemCompleted", "RiskCreated"],
    everyMinutes: 3,
    well: empty(38),
    ill: { statusCode: 503, errorSummary: "connection refused", responseExcerpt: null, durationMs: 4 },
    off: { reason: "failures", agoMs: 2.2 * HOUR },
    // Five attempts in a row: one, the other, one, the other, one.
    unfinished: [
      { agoMs: 150 * SECOND, failures: 2 },
      { agoMs: 184 * SECOND, failures: 3 },
    ],
    quietMs: 6 * MINUTE,
  },
  {
    name: "Client portal",
    url: "https://portal.brightwater.example/api/webhooks",
    events: ["ProjectCreated", "ChangeRequestApproved"],
    everyMinutes: 9,
    well: accepted(112),
    ill: overloaded,
  },
  {
    story: "busy",
    name: "Data warehouse",
    url: "https://ingest.quarry-data.example/webhooks/herald",
    events: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved", "ProjectUpdated"],
    everyMinutes: 1.2,
    well: accepted(23),
    ill: overloaded,
    illness: 0.04,
  },
  {
    name: "Document archive",
    url: "https://archive.kestrel-docs.example/events",
    events: ["ChangeRequestApproved"],
    everyMinutes: 14,
    well: empty(210),
    ill: timedOut,
    illness: 0.08,
  },
  {
    name: "ERP sync",
    url: "https://erp.ostrava-steel.example/integration/projects",
    events: ["ProjectCreated", "ResourceAllocated"],
    everyMinutes: 6,
    well: accepted(480),
    ill: timedOut,
    illness: 0.03,
  },
  {
    name: "Resource planner",
    url: "https://planner.atlas-works.example/webhooks/in",
    events: ["ResourceAllocated"],
    everyMinutes: 7,
    well: accepted(57),
    ill: overloaded,
  },
  {
    story: "paused",
    name: "Risk radar",
    url: "https://radar.sentinel-risk.example/hook",
    events: ["ChangeRequestApproved"],
    everyMinutes: 8,
    well: accepted(91),
    ill: timedOut,
    off: { reason: "paused", agoMs: 5.3 * HOUR },
    unfinished: [{ agoMs: 70 * SECOND, failures: 1 }],
    quietMs: 12 * SECOND,
  },
  {
    name: "Site diary",
    url: "https://diary.fieldnotes.example/hooks/7f31",
    events: ["WorkItemCompleted", "RiskCreated"],
    everyMinutes: 5,
    well: empty(76),
    ill: timedOut,
    illness: 0.02,
  },
  {
    story: "new",
    name: "Staging",
    url: "https://staging.northpeak-finance.example/webhooks",
    events: ["ProjectCreated"],
    everyMinutes: null,
    well: accepted(50),
    ill: timedOut,
  },
  {
    name: "Status board",
    url: "https://board.officewall.example/hooks/projects",
    events: ["ProjectCreated", "WorkItemCompleted", "RiskCreated"],
    everyMinutes: 4,
    well: accepted(31),
    ill: overloaded,
  },
  {
    story: "failing",
    name: "Timesheet export",
    url: "https://payroll.harborline.example/api/timesheets/events",
    events: ["TimesheetApproved"],
    everyMinutes: 3,
    well: accepted(133),
    ill: {
      statusCode: 500,
      errorSummary: "receiver answered 500",
      responseExcerpt: '{"error":"upstream timed out","trace":"9f3c21"}',
      durationMs: 1_240,
    },
    illness: 0.01,
    unfinished: [
      { agoMs: 15 * SECOND, failures: 1 },
      { agoMs: 80 * SECOND, failures: 2 },
    ],
    quietMs: 4 * MINUTE,
  },
];
