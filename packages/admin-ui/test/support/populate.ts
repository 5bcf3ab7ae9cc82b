import type { EventType } from "@herald/contracts";
import { bodyOf, eventIdOf } from "./bodies.ts";
import { type ScenarioKey, scenarios, type WebhookScenario } from "./fixtures.ts";
import { historyOf, missedBy, type Past, randomFrom, uuidv7 } from "./history.ts";
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
  const past = historyOf(scenario, nowMs, random);
  const missed = missedBy(scenario, nowMs, random);
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
      catchUpAt: new Date(nowMs + 20 * HOUR),
      createdAt: new Date(nowMs - 40 * 24 * HOUR),
      updatedAt: new Date(nowMs - 48 * HOUR),
    },
  });
  const [missedType = "ProjectCreated"] = scenario.events;
  await prisma.businessEvent.createMany({
    data: [...past, ...missed.map((event) => ({ ...event, eventType: missedType }))].map((each) =>
      eventOf(each, organizationId),
    ),
  });
  await prisma.delivery.createMany({ data: past.map((each) => deliveryOf(each, id, organizationId)) });
  await prisma.deliveryAttempt.createMany({
    data: past.flatMap(({ id: deliveryId, attempts }) => attempts.map((attempt) => ({ deliveryId, ...attempt }))),
  });
  return { id, name: scenario.name, deliveryIds: past.map((each) => each.id) };
}

/** The attempts that failed since the last success, oldest first. A paused webhook's latest attempt succeeded. */
function failureRunOf(scenario: WebhookScenario, past: readonly Past[]): string[] {
  if (scenario.off?.reason === "paused") return [];
  return past
    .filter(({ state }) => state === "pending" || state === "parked")
    .flatMap(({ id, attempts }) => attempts.map(({ number, startedAt }) => ({ id, number, startedAt })))
    .sort((one, other) => one.startedAt.getTime() - other.startedAt.getTime())
    .map(({ id, number }) => `${id}/${number}`);
}

function deliveryOf(
  { id, eventType, state, attempts, nextAttemptAt, createdMs }: Past,
  endpointId: string,
  organizationId: string,
) {
  const latest = attempts.at(-1);
  return {
    id,
    endpointId,
    organizationId,
    businessEventId: eventIdOf(id),
    eventType,
    state,
    attemptCount: attempts.length,
    nextAttemptAt,
    statusCode: latest?.statusCode ?? null,
    errorSummary: latest?.errorSummary ?? null,
    failureKind: latest?.failureKind ?? null,
    attemptedAt: latest?.startedAt ?? null,
    createdAt: new Date(createdMs),
  };
}

function eventOf(
  { id, eventType, createdMs }: { id: string; eventType: EventType; createdMs: number },
  organizationId: string,
) {
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
