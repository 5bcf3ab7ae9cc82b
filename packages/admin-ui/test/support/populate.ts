import { randomUUID } from "node:crypto";
import { type EventType, samplePayload } from "@herald/contracts";
import { idAt, insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import type { TestEnvironment } from "./test-environment.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Prisma = TestEnvironment["db"]["database"]["prisma"];

/** The result of an attempt. */
interface Answer {
  statusCode: number;
  errorSummary?: string;
  failureKind?: "http_status" | "connection_refused" | "timed_out";
  responseExcerpt?: string;
  durationMs: number;
}

/** A webhook with a past. */
interface Scenario {
  name: string;
  url: string;
  events: EventType[];
  /** Deliveries of the last day that have succeeded. */
  finished: number;
  failure: Answer;
  /** Since when it is disabled. */
  off?: { reason: "paused" | "failures"; agoMs: number };
  /** Deliveries that still wait: the time from their creation to the end, and their failures. */
  unfinished?: { agoMs: number; failures: number }[];
}

const accepted: Answer = { statusCode: 202, responseExcerpt: '{"accepted":true}', durationMs: 64 };
const timedOut: Answer = {
  ...{ statusCode: 503, errorSummary: "timed out after 15 s", failureKind: "timed_out", durationMs: 15_000 },
};

/** The webhooks of an organization that has used them for some weeks. */
const scenarios = {
  healthy: {
    name: "Billing mirror",
    url: "https://hooks.northpeak-finance.example/herald/v2",
    events: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved"],
    finished: 80,
    failure: timedOut,
  },
  disabled: {
    name: "Chat bridge",
    url: "https://bridge.lumenchat.example/in/T02AB/herald",
    events: ["WorkItemCompleted", "RiskCreated"],
    finished: 40,
    failure: {
      ...{ statusCode: 503, errorSummary: "connection refused", failureKind: "connection_refused", durationMs: 4 },
    },
    off: { reason: "failures", agoMs: 2.2 * HOUR },
    // Five attempts in a row: one, the other, one, the other, one.
    unfinished: [
      { agoMs: 150 * SECOND, failures: 2 },
      { agoMs: 184 * SECOND, failures: 3 },
    ],
  },
  busy: {
    name: "Data warehouse",
    url: "https://ingest.quarry-data.example/webhooks/herald",
    events: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved", "ProjectUpdated"],
    finished: 160,
    failure: timedOut,
  },
  paused: {
    name: "Risk radar",
    url: "https://radar.sentinel-risk.example/hook",
    events: ["ChangeRequestApproved"],
    finished: 20,
    failure: timedOut,
    off: { reason: "paused", agoMs: 5.3 * HOUR },
    unfinished: [{ agoMs: 70 * SECOND, failures: 1 }],
  },
  new: {
    name: "Staging",
    url: "https://staging.northpeak-finance.example/webhooks",
    events: ["ProjectCreated"],
    finished: 0,
    failure: timedOut,
  },
  failing: {
    name: "Timesheet export",
    url: "https://payroll.harborline.example/api/timesheets/events",
    events: ["TimesheetApproved"],
    finished: 40,
    failure: {
      statusCode: 500,
      errorSummary: "receiver answered 500",
      failureKind: "http_status",
      responseExcerpt: '{"error":"upstream timed out","trace":"9f3c21"}',
      durationMs: 1_240,
    },
    unfinished: [
      { agoMs: 15 * SECOND, failures: 1 },
      { agoMs: 80 * SECOND, failures: 2 },
    ],
  },
} satisfies Record<string, Scenario>;

interface PopulatedEndpoint {
  id: string;
  name: string;
  /** Newest first. */
  deliveryIds: string[];
}

export type Population = Record<keyof typeof scenarios, PopulatedEndpoint>;

/**
 * Stores webhooks of every kind with a day of history as rows: no receiver could be so varied. The clock of the tests stands still, so no
 * dispatcher takes what is due.
 */
export async function populate({ db, api, clock }: Pick<TestEnvironment, "db" | "api" | "clock">): Promise<Population> {
  const owner = { prisma: db.database.prisma, organizationId: api.organizationId, nowMs: clock.now().getTime() };
  const made: [string, PopulatedEndpoint][] = [];
  for (const [key, scenario] of Object.entries(scenarios)) made.push([key, await insertWebhook(scenario, owner)]);
  return Object.fromEntries(made) as Population;
}

interface Owner {
  prisma: Prisma;
  organizationId: string;
  nowMs: number;
}

/** SPEC 8: retries come 1, 2, 4 and 8 minutes after the attempt before. */
const ATTEMPTS_AFTER_MS = [0, 1, 3, 7, 15].map((minutes) => minutes * MINUTE);

async function insertWebhook(scenario: Scenario, owner: Owner): Promise<PopulatedEndpoint> {
  const { name, url, events, finished, failure, off, unfinished = [] } = scenario;
  const { prisma, organizationId, nowMs } = owner;
  const createdAt = new Date(nowMs - 40 * DAY);
  const disabledAt = off ? new Date(nowMs - off.agoMs) : null;
  const by = off?.reason === "paused" ? { disabledBy: ADMIN.name } : {};
  const endpoint = await insertEndpoint(prisma, {
    ...{ id: idAt(createdAt), organizationId, name, url, events, createdAt, enabled: disabledAt === null },
    ...{ disabledReason: off?.reason ?? null, disabledAt, ...by },
  });
  const endMs = nowMs - (off?.agoMs ?? 0);
  const spaceMs = (endMs - nowMs + DAY - 10 * MINUTE) / finished;
  const past = [
    ...unfinished.map(({ agoMs, failures }) => ({ createdMs: endMs - agoMs, failures, done: false })),
    // One of nine needs a second attempt.
    ...Array.from({ length: finished }, (_, index) => ({
      ...{ createdMs: endMs - 8 * MINUTE - Math.floor(index * spaceMs), failures: index % 9 === 4 ? 1 : 0, done: true },
    })),
  ];
  const deliveryIds: string[] = [];
  const run: { place: string; startedMs: number }[] = [];
  for (const [index, { createdMs, failures, done }] of past.entries()) {
    const type = events[index % events.length] ?? "ProjectCreated";
    const attempts = [...Array.from({ length: failures }, () => failure), ...(done ? [accepted] : [])].map(
      (answer, attempt) => ({
        ...{ ...answer, number: attempt + 1, startedAt: new Date(createdMs + 12 + (ATTEMPTS_AFTER_MS[attempt] ?? 0)) },
      }),
    );
    const { number = 0, startedAt = null, ...latest } = attempts.at(-1) ?? {};
    const event = await insertEventOf(type, createdMs, owner);
    const { id } = await insertDelivery(prisma, endpoint, {
      ...{ eventKey: event.key, eventType: type, createdAt: event.occurredAt, ...latest },
      ...{ attemptCount: number, attemptedAt: startedAt, state: done ? "succeeded" : "pending" },
      due: { dueAt: new Date(createdMs + (ATTEMPTS_AFTER_MS[number] ?? 0)) },
    });
    deliveryIds.push(id);
    // The latest attempt is in the delivery's row.
    await prisma.deliveryAttempt.createMany({
      data: attempts.slice(0, -1).map((each) => ({ deliveryId: id, ...each })),
    });
    if (!done) {
      run.push(...attempts.map((each) => ({ place: `${id}/${each.number}`, startedMs: each.startedAt.getTime() })));
    }
  }
  // A paused webhook's latest attempt succeeded.
  const failureRun =
    off?.reason === "paused" ? [] : run.sort((one, other) => one.startedMs - other.startedMs).map(({ place }) => place);
  await prisma.webhookEndpoint.update({
    where: { id: endpoint.id },
    data: { failureRun, consecutiveFailures: failureRun.length, headers: { Authorization: "sealed" } },
  });
  await prisma.endpointChange.createMany({ data: changesOf(scenario, endpoint.id, { ...owner, disabledAt }) });
  await prisma.catchUp.create({ data: { endpointId: endpoint.id, priority: 1, dueAt: new Date(nowMs + 20 * HOUR) } });
  await prisma.endpointHour.createMany({
    data: Array.from({ length: finished > 0 ? 24 : 0 }, (_, ago) => ({
      ...{ endpointId: endpoint.id, hour: new Date((Math.floor(nowMs / HOUR) - ago) * HOUR) },
      ...{ succeeded: 30 - ago, failed: ago % 5 === 1 ? 1 : 0, durations: [0, 30 - ago, 0, 0, 0, 0, 0, 0] },
    })),
  });
  return { id: endpoint.id, name, deliveryIds };
}

function insertEventOf(type: EventType, createdMs: number, { prisma, organizationId }: Owner) {
  const [id, entityId, occurredAt] = [randomUUID(), randomUUID(), new Date(createdMs)];
  const body = { ...samplePayload(type), id, occurredAtUtc: occurredAt.toISOString(), entityId };
  return insertEvent(prisma, organizationId, { id, type, entityId, occurredAt, body: JSON.stringify(body) });
}

const ADMIN = { changedBy: "admin", subject: "auth0|7", name: "Ana Lindqvist" } as const;

/** It was created under another name, got its own and a new secret two days ago, and was perhaps switched off since. */
function changesOf(
  { name, url, events, off }: Scenario,
  endpointId: string,
  { organizationId, nowMs, disabledAt }: Owner & { disabledAt: Date | null },
) {
  const after = { name, url, events, enabled: true };
  const first = { ...after, name: "Untitled" };
  const change = (changedAt: Date, revision: number, more: object) => ({
    ...{ organizationId, endpointId, endpointName: name, ...ADMIN },
    ...{ id: idAt(changedAt), revision, changedAt, ...more },
  });
  const byHerald = off?.reason === "failures" ? { changedBy: "herald" as const, subject: null, name: null } : {};
  const changes = [
    change(new Date(nowMs - 40 * DAY), 1, { after: first }),
    change(new Date(nowMs - 2 * DAY), 2, { before: first, after, secretReplaced: true }),
  ];
  if (disabledAt === null) return changes;
  return [...changes, change(disabledAt, 3, { ...byHerald, before: after, after: { ...after, enabled: false } })];
}
