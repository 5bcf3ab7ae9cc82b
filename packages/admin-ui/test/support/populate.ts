import type { EventType } from "@herald/contracts";
import { DISPATCH_MS, randomFrom, uuidv7 } from "./deterministic.ts";
import type { World } from "./world.ts";

type Prisma = World["db"]["database"]["prisma"];

/** What has befallen an endpoint. */
type Story = "healthy" | "busy" | "disabled" | "failing" | "paused" | "new";

export interface PopulatedEndpoint {
  id: string;
  name: string;
  /** Newest first. */
  deliveryIds: string[];
}

export type Population = Record<Story, PopulatedEndpoint>;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const cast: { story: Story; name: string; url: string }[] = [
  { story: "healthy", name: "Billing mirror", url: "https://hooks.billing.example/herald/v2" },
  { story: "busy", name: "Data warehouse", url: "https://ingest.warehouse.example/webhooks/herald" },
  { story: "disabled", name: "Chat bridge", url: "https://bridge.chat.example/in/T02AB/herald" },
  { story: "failing", name: "Timesheet export", url: "https://payroll.example/api/timesheets/events" },
  { story: "paused", name: "Risk radar", url: "https://radar.risk.example/hook" },
  { story: "new", name: "Staging", url: "https://staging.tools.example/webhooks" },
];

/** Those that are off have events of their own: what the others got is nothing that they missed. */
const subscriptions: Record<Story, EventType[]> = {
  healthy: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved"],
  busy: ["ProjectCreated", "ResourceAllocated", "TimesheetApproved", "ProjectUpdated"],
  disabled: ["WorkItemCompleted", "RiskCreated"],
  failing: ["TimesheetApproved"],
  paused: ["ChangeRequestApproved"],
  new: ["ProjectCreated"],
};

/** An organization with a webhook of every kind and a day of history, the same each time, as rows: no receiver could be so varied. */
export async function populate(world: Pick<World, "db" | "api" | "clock">): Promise<Population> {
  const { prisma } = world.db.database;
  const now = world.clock.now().getTime();
  const random = randomFrom(7);
  const made: Partial<Population> = {};
  for (const { story, name, url } of cast) {
    const endpoint = await insertStory(prisma, {
      organizationId: world.api.organizationId,
      story,
      name,
      url,
      now,
      random,
    });
    made[story] = endpoint;
  }
  return made as Population;
}

interface Told {
  organizationId: string;
  story: Story;
  name: string;
  url: string;
  now: number;
  random: () => number;
}

interface Row {
  id: string;
  createdMs: number;
  eventType: EventType;
  failures: number;
  state: "pending" | "parked" | "succeeded" | "exhausted";
}

const answers = {
  disabled: { statusCode: 503, errorSummary: "connection refused", responseExcerpt: null, durationMs: 4 },
  failing: {
    statusCode: 500,
    errorSummary: "receiver answered 500",
    responseExcerpt: '{"error":"upstream timed out","trace":"9f3c21"}',
    durationMs: 1_240,
  },
  other: { statusCode: 503, errorSummary: "timed out after 15 s", responseExcerpt: null, durationMs: 15_000 },
};

async function insertStory(prisma: Prisma, told: Told): Promise<PopulatedEndpoint> {
  const { organizationId, story, name, url, now, random } = told;
  const id = uuidv7(now - 40 * 24 * HOUR, random);
  const events = subscriptions[story];
  const rows = rowsOf(story, events, now, random);
  const failed = rows.filter(({ failures, state }) => failures > 0 && state !== "succeeded");
  const run = { disabled: 5, failing: 2 }[story as string] ?? 0;
  const endedAt = { disabled: now - 2.2 * HOUR, paused: now - 30 * HOUR }[story as string] ?? null;
  await prisma.webhookEndpoint.create({
    data: {
      id,
      organizationId,
      name,
      url,
      events,
      enabled: endedAt === null,
      sealedSecret: "sealed",
      consecutiveFailures: run,
      failureRun: failed
        .slice(0, run)
        .map((row) => `${row.id}/${row.failures}`)
        .reverse(),
      disabledReason: endedAt === null ? null : story === "paused" ? "paused" : "failures",
      disabledAt: endedAt === null ? null : new Date(endedAt),
      catchUpAt: new Date(now + 20 * HOUR),
      createdAt: new Date(now - 40 * 24 * HOUR),
      updatedAt: new Date(now - 2 * 24 * HOUR),
    },
  });
  const missed =
    endedAt === null ? [] : rowsOf("healthy", events, now, random).filter(({ createdMs }) => createdMs > endedAt);
  await prisma.businessEvent.createMany({ data: [...rows, ...missed].map((row) => eventOf(row, organizationId)) });
  await prisma.delivery.createMany({
    data: rows.map((row, place) => deliveryOf(row, { endpointId: id, organizationId, story, place, now })),
  });
  await prisma.deliveryAttempt.createMany({ data: rows.flatMap((row) => attemptsOf(row, story, random)) });
  return { id, name, deliveryIds: rows.map((row) => row.id) };
}

/** Newest first; more by day than by night. */
function rowsOf(story: Story, events: EventType[], now: number, random: () => number): Row[] {
  if (story === "new") return [];
  const rows: Row[] = [];
  const start = { disabled: now - 2.2 * HOUR, paused: now - 30 * HOUR }[story as string] ?? now - 20_000;
  let createdMs = start;
  while (createdMs > start - 23 * HOUR) {
    const place = rows.length;
    const unfinished =
      story === "disabled" ? place < 9 : story === "failing" ? place < 2 : story === "paused" && place < 3;
    const exhausted = !unfinished && random() > 0.985;
    rows.push({
      id: uuidv7(createdMs, random),
      createdMs,
      eventType: events[Math.floor(random() * events.length)] ?? "ProjectCreated",
      failures: unfinished ? 1 + (place % 3) : exhausted ? 5 : random() > 0.97 ? 1 : 0,
      state: unfinished ? (story === "failing" ? "pending" : "parked") : exhausted ? "exhausted" : "succeeded",
    });
    const hour = ((createdMs - now) / HOUR + 48) % 24;
    const calm = 1 + 5 * (1 + Math.cos(((hour - 14) / 24) * 2 * Math.PI));
    createdMs -= (story === "busy" ? 1 : 3) * calm * random() * MINUTE + 1_000;
  }
  return rows;
}

function deliveryOf(
  { id, createdMs, eventType, failures, state }: Row,
  place: { endpointId: string; organizationId: string; story: Story; place: number; now: number },
) {
  const answer = failureOf(place.story, state);
  const succeeded = state === "succeeded";
  return {
    id,
    endpointId: place.endpointId,
    organizationId: place.organizationId,
    businessEventId: eventIdOf(id),
    eventType,
    state,
    attemptCount: failures + (succeeded ? 1 : 0),
    // Far enough ahead that no dispatcher takes them while somebody looks.
    nextAttemptAt: state === "pending" ? new Date(place.now + 95_000 + place.place * MINUTE) : null,
    statusCode: succeeded ? 200 : answer.statusCode,
    errorSummary: succeeded ? null : answer.errorSummary,
    attemptedAt: new Date(attemptTime(createdMs, failures + (succeeded ? 1 : 0))),
    createdAt: new Date(createdMs),
  };
}

function attemptsOf({ id, createdMs, failures, state }: Row, story: Story, random: () => number) {
  const failed = Array.from({ length: failures }, (_, index) => ({
    deliveryId: id,
    number: index + 1,
    startedAt: new Date(attemptTime(createdMs, index + 1)),
    ...failureOf(story, state),
  }));
  if (state !== "succeeded") return failed;
  const succeeded = {
    deliveryId: id,
    number: failures + 1,
    startedAt: new Date(attemptTime(createdMs, failures + 1)),
    durationMs: Math.round(18 + random() * 140),
    statusCode: 200,
    errorSummary: null,
    responseExcerpt: '{"ok":true}',
  };
  return [...failed, succeeded];
}

function failureOf(story: Story, state: Row["state"]) {
  if (state === "succeeded" || state === "exhausted") return answers.other;
  return story === "disabled" ? answers.disabled : story === "failing" ? answers.failing : answers.other;
}

/** Attempts follow each other at SPEC 8's delays, told in seconds here so that a short history holds them. */
function attemptTime(createdMs: number, number: number): number {
  return createdMs + DISPATCH_MS + ([0, 1, 3, 7, 15][number - 1] ?? 0) * 1_000;
}

function eventIdOf(deliveryId: string): string {
  return deliveryId.replace(/.{4}$/, "00ee");
}

function eventOf({ id, eventType, createdMs }: Row, organizationId: string) {
  const occurredAt = new Date(createdMs);
  return {
    organizationId,
    id: eventIdOf(id),
    type: eventType,
    occurredAt,
    receivedAt: occurredAt,
    body: bodyOf(id, eventType, createdMs),
  };
}

function bodyOf(id: string, type: EventType, createdMs: number): string {
  return JSON.stringify({
    id: eventIdOf(id),
    type,
    occurredAtUtc: new Date(createdMs).toISOString(),
    entityType: type.replace(/(Created|Completed|Allocated|Approved|Updated)$/, ""),
    entityId: id.replace(/.{4}$/, "00aa"),
    data: {
      changes: {
        Status: { oldValue: "InProgress", newValue: "Done" },
        PercentComplete: { oldValue: "80", newValue: "100" },
      },
    },
  });
}
