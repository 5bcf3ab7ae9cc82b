import { type EventType, samplePayload } from "@herald/contracts";
import { idAt } from "@herald/dev/harness/rows";
import {
  historyOf,
  missedBy,
  type Past,
  randomFrom,
  type ScenarioKey,
  scenarios,
  uuidv7,
  type WebhookScenario,
} from "./fixtures.ts";
import type { TestEnvironment } from "./test-environment.ts";

type Prisma = TestEnvironment["db"]["database"]["prisma"];

export interface PopulatedEndpoint {
  id: string;
  name: string;
  /** Newest first. */
  deliveryIds: string[];
}

export type Population = Record<ScenarioKey, PopulatedEndpoint>;

const HOUR = 3_600_000;

/**
 * Stores webhooks of every kind with a day of history, the same each time, as rows: no receiver could be so varied.
 * The clock of the tests stands still, so no dispatcher takes what is due.
 */
export async function populate(environment: Pick<TestEnvironment, "db" | "api" | "clock">): Promise<Population> {
  const { prisma } = environment.db.database;
  const nowMs = environment.clock.now().getTime();
  const random = randomFrom(7);
  const made: Partial<Population> = {};
  for (const scenario of scenarios) {
    const endpoint = await insertWebhook(prisma, scenario, {
      organizationId: environment.api.organizationId,
      nowMs,
      random,
    });
    if (scenario.key) made[scenario.key] = endpoint;
  }
  return made as Population;
}

interface Owner {
  organizationId: string;
  nowMs: number;
  random: () => number;
}

async function insertWebhook(
  prisma: Prisma,
  scenario: WebhookScenario,
  { organizationId, nowMs, random }: Owner,
): Promise<PopulatedEndpoint> {
  const id = uuidv7(nowMs - 40 * 24 * HOUR, random);
  const seeds = historyOf(scenario, nowMs, random);
  const missed = missedBy(scenario, nowMs, random);
  const events = [...seeds, ...missed.map((each) => ({ ...each, eventType: scenario.events[0] ?? "ProjectCreated" }))];
  const ids = await idsOf(prisma, events, { organizationId, endpointId: id });
  const past = seeds.map((seed, index) => ({
    ...seed,
    eventKey: ids[index]?.eventKey ?? "",
    id: ids[index]?.deliveryId ?? "",
  }));
  const run = failureRunOf(scenario, past);
  const disabledAt = scenario.off ? new Date(nowMs - scenario.off.agoMs) : null;
  await prisma.webhookEndpoint.create({
    data: {
      id,
      organizationId,
      name: scenario.name,
      url: scenario.url,
      events: scenario.events,
      enabled: disabledAt === null,
      sealedSecret: "sealed",
      consecutiveFailures: run.length,
      failureRun: run,
      disabledReason: scenario.off?.reason ?? null,
      disabledAt,
      disabledBy: scenario.off?.reason === "paused" ? ADMIN.name : null,
      createdAt: new Date(nowMs - 40 * 24 * HOUR),
      updatedAt: new Date(nowMs - 48 * HOUR),
    },
  });
  await prisma.endpointChange.createMany({ data: changesOf(scenario, { id, organizationId }, { nowMs, disabledAt }) });
  await prisma.catchUp.create({ data: { endpointId: id, priority: 1, dueAt: new Date(nowMs + 20 * HOUR) } });
  await prisma.businessEvent.createMany({
    data: events.map((each, index) => eventOf(each, ids[index]?.eventKey ?? "", organizationId)),
  });
  await prisma.delivery.createMany({ data: past.map((each) => deliveryOf(each, id, organizationId)) });
  // The latest attempt is in the delivery's row.
  await prisma.deliveryAttempt.createMany({
    data: past.flatMap((each) => each.attempts.slice(0, -1).map((attempt) => ({ deliveryId: each.id, ...attempt }))),
  });
  await prisma.endpointHour.createMany({ data: hoursOf(past, id, nowMs) });
  await prisma.due.createMany({
    data: past.flatMap(({ id: deliveryId, dueAt, attempts }) =>
      dueAt === null ? [] : [{ deliveryId, endpointId: id, dueAt, attempts: attempts.length }],
    ),
  });
  return { id, name: scenario.name, deliveryIds: past.map((each) => each.id) };
}

/** Up to how long attempts took that are counted together, in ms. */
const BOUNDS_MS = [50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000];

/** The sums of a day's attempts by hours, and the same for each day of a month, with fewer hours at weekends. */
function hoursOf(past: readonly Past[], endpointId: string, nowMs: number) {
  const hours = new Map<number, { succeeded: number; failed: number; durations: number[] }>();
  for (const { startedAt, statusCode, durationMs } of past.flatMap(({ attempts }) => attempts)) {
    const hour = Math.floor(startedAt.getTime() / HOUR);
    if (hour <= nowMs / HOUR - 24) continue;
    const sums = hours.get(hour) ?? { succeeded: 0, failed: 0, durations: BOUNDS_MS.map(() => 0) };
    hours.set(hour, sums);
    if (statusCode < 300) sums.succeeded++;
    else sums.failed++;
    const bucket = BOUNDS_MS.findIndex((bound) => durationMs <= bound);
    sums.durations[bucket] = (sums.durations[bucket] ?? 0) + 1;
  }
  return Array.from({ length: 30 }, (_, day) =>
    [...hours].map(([hour, sums]) => ({ endpointId, hour: new Date((hour - 24 * day) * HOUR), ...sums })),
  )
    .flat()
    .filter(({ hour }) => nowMs - hour.getTime() < 24 * HOUR || hour.getUTCDay() % 6 > 0 || hour.getUTCHours() > 12);
}

const ADMIN = { changedBy: "admin", subject: "auth0|7", name: "Ana Lindqvist" } as const;

/** It was created under another name, got its own and a new secret two days ago, and was perhaps switched off since. */
function changesOf(
  { name, url, events, off }: WebhookScenario,
  { id: endpointId, organizationId }: { id: string; organizationId: string },
  { nowMs, disabledAt }: { nowMs: number; disabledAt: Date | null },
) {
  const after = { name, url, events, enabled: true };
  const first = { ...after, name: "Untitled" };
  const change = (changedAt: Date, revision: number, more: object) => ({
    ...{ organizationId, endpointId, endpointName: name, ...ADMIN },
    ...{ id: idAt(changedAt), revision, changedAt, ...more },
  });
  const byHerald = off?.reason === "failures" ? { changedBy: "herald" as const, subject: null, name: null } : {};
  const changes = [
    change(new Date(nowMs - 40 * 24 * HOUR), 1, { after: first }),
    change(new Date(nowMs - 48 * HOUR), 2, { before: first, after, secretReplaced: true }),
  ];
  if (disabledAt === null) return changes;
  return [...changes, change(disabledAt, 3, { ...byHerald, before: after, after: { ...after, enabled: false } })];
}

/** The attempts that failed since the last success, oldest first. A paused webhook's latest attempt succeeded. */
function failureRunOf(scenario: WebhookScenario, past: readonly Past[]): string[] {
  if (scenario.off?.reason === "paused") return [];
  return past
    .filter(({ state }) => state === "pending")
    .flatMap(({ id, attempts }) => attempts.map(({ number, startedAt }) => ({ id, number, startedAt })))
    .sort((one, other) => one.startedAt.getTime() - other.startedAt.getTime())
    .map(({ id, number }) => `${id}/${number}`);
}

function deliveryOf(
  { id, eventKey, eventType, state, attempts, createdMs }: Past & { eventKey: string },
  endpointId: string,
  organizationId: string,
) {
  const latest = attempts.at(-1);
  return {
    id,
    endpointId,
    organizationId,
    eventKey,
    eventType,
    state,
    attemptCount: attempts.length,
    durationMs: latest?.durationMs ?? null,
    statusCode: latest?.statusCode ?? null,
    errorSummary: latest?.errorSummary ?? null,
    failureKind: latest?.failureKind ?? null,
    responseExcerpt: latest?.responseExcerpt ?? null,
    attemptedAt: latest?.startedAt ?? null,
    createdAt: new Date(createdMs),
  };
}

function eventOf(
  { id, eventType, createdMs }: { id: string; eventType: EventType; createdMs: number },
  key: string,
  organizationId: string,
) {
  const occurredAt = new Date(createdMs);
  return {
    organizationId,
    key,
    id: eventIdOf(id),
    type: eventType,
    entityId: entityIdOf(id),
    occurredAt,
    receivedAt: occurredAt,
    body: JSON.stringify({
      ...samplePayload(eventType),
      id: eventIdOf(id),
      occurredAtUtc: occurredAt.toISOString(),
      entityId: entityIdOf(id),
    }),
  };
}

const eventIdOf = (seed: string) => seed.replace(/.{4}$/, "00ee");
const entityIdOf = (seed: string) => seed.replace(/^.{8}/, "018f6c2a");

/** The keys of events, and the ids of their deliveries to an endpoint, in the order of their seeds. */
async function idsOf(
  prisma: Prisma,
  seeds: readonly { id: string; createdMs: number }[],
  { organizationId, endpointId }: { organizationId: string; endpointId: string },
): Promise<{ eventKey: string; deliveryId: string }[]> {
  return await prisma.$queryRaw`
    select event_key as "eventKey", delivery_id(event_key, ${endpointId}::uuid) as "deliveryId"
    from unnest(
      ${seeds.map(({ id }) => eventIdOf(id))}::uuid[],
      ${seeds.map(({ createdMs }) => new Date(createdMs))}::timestamptz[]
    ) with ordinality as event (id, occurred_at, position)
    cross join lateral event_key(${organizationId}, id, occurred_at)
    order by position`;
}
