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
  /** Set if a test asks for it. */
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

const taken = (statusCode: number, responseExcerpt: string, durationMs: number): Answer => ({
  statusCode,
  errorSummary: null,
  failureKind: null,
  responseExcerpt,
  durationMs,
});
const accepted = (durationMs: number) => taken(202, '{"accepted":true}', durationMs);
const empty = (durationMs: number) => taken(204, "", durationMs);
const refused = (statusCode: number, responseExcerpt: string, durationMs: number): Answer => ({
  ...taken(statusCode, responseExcerpt, durationMs),
  errorSummary: `receiver answered ${statusCode}`,
  failureKind: "http_status",
});
const noAnswer = (failureKind: FailureKind, errorSummary: string, durationMs: number): Answer => ({
  ...{ statusCode: 503, errorSummary, failureKind, responseExcerpt: null, durationMs },
});
const timedOut = noAnswer("timed_out", "timed out after 15 s", 15_000);
const overloaded = refused(429, '{"message":"Too many requests"}', 41);

type Story = Omit<WebhookScenario, "name" | "url" | "events" | "everyMinutes">;
const webhook = (
  name: string,
  url: string,
  events: EventType[],
  everyMinutes: number | null,
  story: Story,
): WebhookScenario => ({ name, url: `https://${url}`, events, everyMinutes, ...story });

/** The webhooks of an organization that has used them for some weeks. */
export const scenarios: WebhookScenario[] = [
  webhook(
    "Billing mirror",
    "hooks.northpeak-finance.example/herald/v2",
    ["ProjectCreated", "ResourceAllocated", "TimesheetApproved"],
    2,
    { key: "healthy", success: accepted(64), failure: timedOut, failureRate: 0.02 },
  ),
  webhook("Chat bridge", "bridge.lumenchat.example/in/T02AB/herald", ["WorkItemCompleted", "RiskCreated"], 3, {
    key: "disabled",
    success: empty(38),
    failure: noAnswer("connection_refused", "connection refused", 4),
    off: { reason: "failures", agoMs: 2.2 * HOUR },
    // Five attempts in a row: one, the other, one, the other, one.
    unfinished: [
      { agoMs: 150 * SECOND, failures: 2 },
      { agoMs: 184 * SECOND, failures: 3 },
    ],
    quietMs: 6 * MINUTE,
  }),
  webhook("Client portal", "portal.brightwater.example/api/webhooks", ["ProjectCreated", "ChangeRequestApproved"], 9, {
    success: accepted(112),
    failure: overloaded,
  }),
  webhook(
    "Data warehouse",
    "ingest.quarry-data.example/webhooks/herald",
    ["ProjectCreated", "ResourceAllocated", "TimesheetApproved", "ProjectUpdated"],
    1.2,
    { key: "busy", success: accepted(23), failure: overloaded, failureRate: 0.04 },
  ),
  webhook("Document archive", "archive.kestrel-docs.example/events", ["ChangeRequestApproved"], 14, {
    success: empty(210),
    failure: timedOut,
    failureRate: 0.08,
  }),
  webhook("ERP sync", "erp.ostrava-steel.example/integration/projects", ["ProjectCreated", "ResourceAllocated"], 6, {
    success: accepted(480),
    failure: timedOut,
    failureRate: 0.03,
  }),
  webhook("Resource planner", "planner.atlas-works.example/webhooks/in", ["ResourceAllocated"], 7, {
    success: accepted(57),
    failure: overloaded,
  }),
  webhook("Risk radar", "radar.sentinel-risk.example/hook", ["ChangeRequestApproved"], 8, {
    key: "paused",
    success: accepted(91),
    failure: timedOut,
    off: { reason: "paused", agoMs: 5.3 * HOUR },
    unfinished: [{ agoMs: 70 * SECOND, failures: 1 }],
    quietMs: 12 * SECOND,
  }),
  webhook("Site diary", "diary.fieldnotes.example/hooks/7f31", ["WorkItemCompleted", "RiskCreated"], 5, {
    success: empty(76),
    failure: timedOut,
    failureRate: 0.02,
  }),
  webhook("Staging", "staging.northpeak-finance.example/webhooks", ["ProjectCreated"], null, {
    key: "new",
    success: accepted(50),
    failure: timedOut,
  }),
  webhook(
    "Status board",
    "board.officewall.example/hooks/projects",
    ["ProjectCreated", "WorkItemCompleted", "RiskCreated"],
    4,
    { success: accepted(31), failure: overloaded },
  ),
  webhook("Timesheet export", "payroll.harborline.example/api/timesheets/events", ["TimesheetApproved"], 3, {
    key: "failing",
    success: accepted(133),
    failure: refused(500, '{"error":"upstream timed out","trace":"9f3c21"}', 1_240),
    failureRate: 0.01,
    unfinished: [
      { agoMs: 15 * SECOND, failures: 1 },
      { agoMs: 80 * SECOND, failures: 2 },
    ],
    quietMs: 4 * MINUTE,
  }),
];

/** From a delivery's creation to its first attempt, in ms. */
const DISPATCH_MS = 12;
/** SPEC 8: retries come 1, 2, 4 and 8 minutes after the attempt before. */
const ATTEMPTS_AFTER_MS = [0, 1, 3, 7, 15].map((minutes) => minutes * MINUTE);

export interface Attempt extends Answer {
  number: number;
  startedAt: Date;
}

export interface Past {
  /** The id of the delivery. Before it is stored, the ids of its event and entity are made from it. */
  id: string;
  createdMs: number;
  eventType: EventType;
  state: "pending" | "succeeded" | "exhausted";
  attempts: Attempt[];
  /** When the next attempt is due; null if none follows. */
  dueAt: Date | null;
}

/** A day of a webhook's deliveries, newest first; the busiest hours were a few hours ago, and the night is quiet. */
export function historyOf(scenario: WebhookScenario, nowMs: number, random: () => number): Past[] {
  if (scenario.everyMinutes === null) return [];
  const endMs = nowMs - (scenario.off?.agoMs ?? 0);
  const unfinished = (scenario.unfinished ?? []).map(({ agoMs, failures }) =>
    unfinishedOne(scenario, endMs - agoMs, failures, random),
  );
  const finished: Past[] = [];
  let createdMs = endMs - (scenario.quietMs ?? 8_000 + random() * scenario.everyMinutes * MINUTE);
  while (createdMs > nowMs - 24 * HOUR) {
    finished.push(finishedOne(scenario, createdMs, endMs, random));
    createdMs -= scenario.everyMinutes * calmAt(nowMs - createdMs) * (0.3 + 1.4 * random()) * MINUTE + 1_000;
  }
  return [...unfinished, ...finished].sort((one, other) => other.createdMs - one.createdMs);
}

/** The events that a disabled webhook has no delivery for. */
export function missedBy(
  scenario: WebhookScenario,
  nowMs: number,
  random: () => number,
): { id: string; createdMs: number }[] {
  const missed: { id: string; createdMs: number }[] = [];
  if (!scenario.off || scenario.everyMinutes === null) return missed;
  for (let createdMs = nowMs - 40_000; createdMs > nowMs - scenario.off.agoMs + MINUTE; ) {
    missed.push({ id: uuidv7(createdMs, random), createdMs });
    createdMs -= scenario.everyMinutes * calmAt(nowMs - createdMs) * (0.3 + 1.4 * random()) * MINUTE;
  }
  return missed;
}

/** How many times rarer deliveries are than at the busiest hour: 1 four hours ago, 6 at night. */
function calmAt(agoMs: number): number {
  return 1 + 2.5 * (1 - Math.cos(((agoMs / HOUR - 4) / 24) * 2 * Math.PI));
}

function finishedOne(scenario: WebhookScenario, createdMs: number, endMs: number, random: () => number): Past {
  const fails = random() < (scenario.failureRate ?? 0);
  const lastRetryMs = createdMs + (ATTEMPTS_AFTER_MS.at(-1) ?? 0) + scenario.failure.durationMs;
  const exhausted = fails && random() < 0.25 && lastRetryMs < endMs;
  const failures = exhausted ? ATTEMPTS_AFTER_MS.length : fails && createdMs + 2 * MINUTE < endMs ? 1 : 0;
  const attempts = failedOnes(scenario, createdMs, failures, random);
  if (!exhausted) attempts.push(attempt(scenario.success, createdMs, failures + 1, 0.6 + random()));
  return {
    ...fresh(scenario, createdMs, random),
    state: exhausted ? "exhausted" : "succeeded",
    attempts,
    dueAt: null,
  };
}

function unfinishedOne(scenario: WebhookScenario, createdMs: number, failures: number, random: () => number): Past {
  const due = createdMs + (ATTEMPTS_AFTER_MS[failures] ?? 0);
  return {
    ...fresh(scenario, createdMs, random),
    state: "pending",
    attempts: failedOnes(scenario, createdMs, failures, random),
    dueAt: new Date(due),
  };
}

function fresh(scenario: WebhookScenario, createdMs: number, random: () => number) {
  const eventType = scenario.events[Math.floor(random() * scenario.events.length)] ?? "ProjectCreated";
  return { id: uuidv7(createdMs, random), createdMs, eventType };
}

function failedOnes(scenario: WebhookScenario, createdMs: number, count: number, random: () => number): Attempt[] {
  return Array.from({ length: count }, (_, index) =>
    attempt(scenario.failure, createdMs, index + 1, 0.95 + random() / 10),
  );
}

function attempt(answer: Answer, createdMs: number, number: number, speed: number): Attempt {
  // A timeout takes as long as it takes.
  const durationMs = answer.durationMs >= 15_000 ? answer.durationMs : Math.round(answer.durationMs * speed);
  const startedAt = new Date(createdMs + DISPATCH_MS + (ATTEMPTS_AFTER_MS[number - 1] ?? 0));
  return { ...answer, durationMs, number, startedAt };
}

/** Numbers from 0 to 1 that are the same on every run. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** A UUIDv7 of a time: lists are in the order of their ids. */
export function uuidv7(timeMs: number, random: () => number): string {
  const time = Math.floor(timeMs).toString(16).padStart(12, "0");
  const noise = Array.from({ length: 18 }, () => Math.floor(random() * 16).toString(16)).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${noise.slice(0, 3)}-8${noise.slice(3, 6)}-${noise.slice(6)}`;
}
