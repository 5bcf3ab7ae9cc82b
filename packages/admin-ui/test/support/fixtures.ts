import type { EventType, FailureKind } from "@herald/contracts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The webhooks that tests ask for. */
export type ScenarioKey = "healthy" | "busy" | "disabled" | "failing" | "paused" | "new";

/** How a receiver answers. */
export interface Answer {
  statusCode: number;
  errorSummary: string | null;
  failureKind: FailureKind | null;
  responseExcerpt: string | null;
  durationMs: number;
}

/** A webhook with a past. */
export interface WebhookScenario {
  /** Set where tests ask for it. */
  key?: ScenarioKey;
  name: string;
  url: string;
  events: EventType[];
  /** About how many minutes lie between two deliveries at the busiest time of the day; null for none at all. */
  everyMinutes: number | null;
  /** About how it answers when it works. */
  success: Answer;
  /** About how it fails, and for which share of the deliveries the first attempt does. */
  failure: Answer;
  failureRate?: number;
  /** Since when it is disabled. */
  off?: { reason: "paused" | "failures"; agoMs: number };
  /** Deliveries that still wait: how long before the end they were created, and how often they failed. */
  unfinished?: { agoMs: number; failures: number }[];
  /** How long before the end the latest finished delivery was created. */
  quietMs?: number;
}

const accepted = (durationMs: number): Answer => ({
  statusCode: 202,
  errorSummary: null,
  failureKind: null,
  responseExcerpt: '{"accepted":true}',
  durationMs,
});
const empty = (durationMs: number): Answer => ({
  statusCode: 204,
  errorSummary: null,
  failureKind: null,
  responseExcerpt: "",
  durationMs,
});
const timedOut: Answer = {
  statusCode: 503,
  errorSummary: "timed out after 15 s",
  failureKind: "timed_out",
  responseExcerpt: null,
  durationMs: 15_000,
};
const overloaded: Answer = {
  statusCode: 429,
  errorSummary: "receiver answered 429",
  failureKind: "http_status",
  responseExcerpt: '{"message":"Too many requests"}',
  durationMs: 41,
};

/** The webhooks of an organization that has used them for some weeks. */
export const scenarios: WebhookScenario[] = [
  {
    key: "healthy",
    name: "Billing mirror",
    url: "https://hooks.northpeak-finance.example/herald/v2",
    events: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved"],
    everyMinutes: 2,
    success: accepted(64),
    failure: timedOut,
    failureRate: 0.02,
  },
  {
    key: "disabled",
    name: "Chat bridge",
    url: "https://bridge.lumenchat.example/in/T02AB/herald",
    events: ["WorkItemCompleted", "RiskCreated"],
    everyMinutes: 3,
    success: empty(38),
    failure: {
      statusCode: 503,
      errorSummary: "connection refused",
      failureKind: "connection_refused",
      responseExcerpt: null,
      durationMs: 4,
    },
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
    success: accepted(112),
    failure: overloaded,
  },
  {
    key: "busy",
    name: "Data warehouse",
    url: "https://ingest.quarry-data.example/webhooks/herald",
    events: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved", "ProjectUpdated"],
    everyMinutes: 1.2,
    success: accepted(23),
    failure: overloaded,
    failureRate: 0.04,
  },
  {
    name: "Document archive",
    url: "https://archive.kestrel-docs.example/events",
    events: ["ChangeRequestApproved"],
    everyMinutes: 14,
    success: empty(210),
    failure: timedOut,
    failureRate: 0.08,
  },
  {
    name: "ERP sync",
    url: "https://erp.ostrava-steel.example/integration/projects",
    events: ["ProjectCreated", "ResourceAllocated"],
    everyMinutes: 6,
    success: accepted(480),
    failure: timedOut,
    failureRate: 0.03,
  },
  {
    name: "Resource planner",
    url: "https://planner.atlas-works.example/webhooks/in",
    events: ["ResourceAllocated"],
    everyMinutes: 7,
    success: accepted(57),
    failure: overloaded,
  },
  {
    key: "paused",
    name: "Risk radar",
    url: "https://radar.sentinel-risk.example/hook",
    events: ["ChangeRequestApproved"],
    everyMinutes: 8,
    success: accepted(91),
    failure: timedOut,
    off: { reason: "paused", agoMs: 5.3 * HOUR },
    unfinished: [{ agoMs: 70 * SECOND, failures: 1 }],
    quietMs: 12 * SECOND,
  },
  {
    name: "Site diary",
    url: "https://diary.fieldnotes.example/hooks/7f31",
    events: ["WorkItemCompleted", "RiskCreated"],
    everyMinutes: 5,
    success: empty(76),
    failure: timedOut,
    failureRate: 0.02,
  },
  {
    key: "new",
    name: "Staging",
    url: "https://staging.northpeak-finance.example/webhooks",
    events: ["ProjectCreated"],
    everyMinutes: null,
    success: accepted(50),
    failure: timedOut,
  },
  {
    name: "Status board",
    url: "https://board.officewall.example/hooks/projects",
    events: ["ProjectCreated", "WorkItemCompleted", "RiskCreated"],
    everyMinutes: 4,
    success: accepted(31),
    failure: overloaded,
  },
  {
    key: "failing",
    name: "Timesheet export",
    url: "https://payroll.harborline.example/api/timesheets/events",
    events: ["TimesheetApproved"],
    everyMinutes: 3,
    success: accepted(133),
    failure: {
      statusCode: 500,
      errorSummary: "receiver answered 500",
      failureKind: "http_status",
      responseExcerpt: '{"error":"upstream timed out","trace":"9f3c21"}',
      durationMs: 1_240,
    },
    failureRate: 0.01,
    unfinished: [
      { agoMs: 15 * SECOND, failures: 1 },
      { agoMs: 80 * SECOND, failures: 2 },
    ],
    quietMs: 4 * MINUTE,
  },
];
