import { sqlStateOf } from "@herald/common/database/errors";
import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Clock } from "@herald/common/runtime/clock";
import { deleteEndpoint, eraseDeliveries, hasLongHistory, pauseForDeletion } from "../sql/delete-endpoint.ts";
import { conflictOrNotFound } from "./find-endpoint.ts";
import { parseVersion } from "./version.ts";

/** Deliveries that one statement erases: some tenths of a second. */
const STEP = 10_000;

/**
 * Erases an endpoint, its subscriptions and its whole history (SPEC 3.1, 4.1.5). What receivers got stays with them, and an
 * attempt under way may still arrive.
 *
 * A long history goes in steps, with the endpoint paused meanwhile: one statement for millions of deliveries would hold
 * their locks for minutes. Who asked waits until all of it is gone; where that is cut off, the endpoint is still there,
 * paused, and can be deleted again.
 *
 * @throws ProblemError `webhook_not_found`, or `version_conflict` where it isn't in the version that the client has read
 */
export async function deleteWebhook(
  { prisma, clock }: { prisma: PrismaClient; clock: Clock },
  { id, organizationId }: { id: string; organizationId: string },
  version: string,
): Promise<void> {
  const endpoint = { id, organizationId };
  let revision = parseVersion(version) ?? 0n;
  if (await hasLongHistory(prisma, { ...endpoint, moreThan: STEP })) {
    const paused = await pauseForDeletion(prisma, { ...endpoint, revision, now: clock.now() });
    if (paused === null) throw await conflictOrNotFound(prisma, endpoint);
    revision = paused;
    while ((await whereDeadlocked(() => eraseDeliveries(prisma, { endpointId: id, limit: STEP }))) === STEP);
  }
  if (!(await whereDeadlocked(() => deleteEndpoint(prisma, { ...endpoint, revision })))) {
    throw await conflictOrNotFound(prisma, endpoint);
  }
}

const DEADLOCK_DETECTED = "40P01";
const TRIES = 5;

/**
 * A settlement locks its delivery and then the endpoint, a deletion the other way round. Where the two meet, PostgreSQL
 * ends one of them, which has changed nothing and can be done again.
 */
async function whereDeadlocked<T>(statement: () => Promise<T>): Promise<T> {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await statement();
    } catch (error) {
      if (sqlStateOf(error) !== DEADLOCK_DETECTED || left === 0) throw error;
    }
  }
}
