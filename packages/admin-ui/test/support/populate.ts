import type { EventType } from "@herald/contracts";
import { bodyOf, eventIdOf } from "./bodies.ts";
import { cast, type Part, type Story } from "./cast.ts";
import { randomFrom, uuidv7 } from "./deterministic.ts";
import { historyOf, missedBy, type Past } from "./history.ts";
import type { World } from "./world.ts";

type Prisma = World["db"]["database"]["prisma"];

export interface PopulatedEndpoint {
  id: string;
  name: string;
  /** Newest first. */
  deliveryIds: string[];
}

export type Population = Record<Story, PopulatedEndpoint>;

const HOUR = 3_600_000;

/**
 * An organization with webhooks of every kind and a day of history, the same each time, as rows: no receiver could be so varied.
 * The clock of the tests stands still, so no dispatcher takes what is due.
 */
export async function populate(world: Pick<World, "db" | "api" | "clock">): Promise<Population> {
  const { prisma } = world.db.database;
  const nowMs = world.clock.now().getTime();
  const random = randomFrom(7);
  const made: Partial<Population> = {};
  for (const part of cast) {
    const endpoint = await insertPart(prisma, part, { organizationId: world.api.organizationId, nowMs, random });
    if (part.story) made[part.story] = endpoint;
  }
  return made as Population;
}

interface Place {
  organizationId: string;
  nowMs: number;
  random: () => number;
}

async function insertPart(
  prisma: Prisma,
  part: Part,
  { organizationId, nowMs, random }: Place,
): Promise<PopulatedEndpoint> {
  const id = uuidv7(nowMs - 40 * 24 * HOUR, random);
  const past = historyOf(part, nowMs, random);
  const missed = missedBy(part, nowMs, random);
  const run = failureRunOf(part, past);
  const disabledAt = part.off ? new Date(nowMs - part.off.agoMs) : null;
  await prisma.webhookEndpoint.create({
    data: {
      id,
      organizationId,
      name: part.name,
      url: part.url,
      events: part.events,
      enabled: disabledAt === null,
      sealedSecret: "sealed",
      consecutiveFailures: run.length,
      failureRun: run,
      disabledReason: part.off?.reason ?? null,
      disabledAt,
      catchUpAt: new Date(nowMs + 20 * HOUR),
      createdAt: new Date(nowMs - 40 * 24 * HOUR),
      updatedAt: new Date(nowMs - 48 * HOUR),
    },
  });
  const [missedType = "ProjectCreated"] = part.events;
  await prisma.businessEvent.createMany({
    data: [...past, ...missed.map((event) => ({ ...event, eventType: missedType }))].map((each) =>
      eventOf(each, organizationId),
    ),
  });
  await prisma.delivery.createMany({ data: past.map((each) => deliveryOf(each, id, organizationId)) });
  await prisma.deliveryAttempt.createMany({
    data: past.flatMap(({ id: deliveryId, attempts }) => attempts.map((attempt) => ({ deliveryId, ...attempt }))),
  });
  return { id, name: part.name, deliveryIds: past.map((each) => each.id) };
}

/** The attempts that failed since the last success, oldest first. A paused webhook's last word was a success. */
function failureRunOf(part: Part, past: readonly Past[]): string[] {
  if (part.off?.reason === "paused") return [];
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
