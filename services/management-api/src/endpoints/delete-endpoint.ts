import { sqlStateOf } from "@herald/common/database/errors";
import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { eraseDeliveries, eraseEndpoint, hasLongHistory, pauseForDeletion } from "../sql/erase-endpoint.ts";
import { type EndpointKey, refuseVersion } from "./find-endpoint.ts";
import { parseVersion } from "./version.ts";

/** How many deliveries one statement erases: it takes some tenths of a second. */
const STEP = 10_000;

/**
 * Erases an endpoint, its subscriptions and its whole history (SPEC 3.1, 4.1.5). Receivers keep what they got, and an
 * attempt under way may still arrive.
 *
 * A long history is erased in steps, with the endpoint paused meanwhile: one statement for millions of deliveries would
 * hold their locks for minutes. The client waits until everything is gone. If it stops in between, the endpoint still
 * exists, paused, and can be deleted again.
 *
 * @throws ProblemError `webhook_not_found`, or `version_conflict` where the client has read another version
 */
export async function deleteEndpoint(
  { prisma, queries, clock }: { prisma: PrismaClient; queries: Queries; clock: Clock },
  key: EndpointKey,
  version: string,
): Promise<void> {
  let revision = parseVersion(version) ?? 0n;
  if (await hasLongHistory(queries, { ...key, moreThan: STEP })) {
    const paused = await pauseForDeletion(queries, { ...key, revision, now: clock.now() });
    if (paused === null) return await refuseVersion(prisma, key);
    revision = paused;
    while ((await retryDeadlock(() => eraseDeliveries(queries, { endpointId: key.id, limit: STEP }))) === STEP);
  }
  if (!(await retryDeadlock(() => eraseEndpoint(queries, { ...key, revision })))) await refuseVersion(prisma, key);
}

const DEADLOCK_DETECTED = "40P01";
const TRIES = 5;

/**
 * A settlement locks its delivery and then the endpoint, a deletion the other way round. Where the two meet, PostgreSQL
 * ends one of them. That one has changed nothing, and can be tried again.
 */
async function retryDeadlock<T>(statement: () => Promise<T>): Promise<T> {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await statement();
    } catch (error) {
      if (sqlStateOf(error) !== DEADLOCK_DETECTED || left === 0) throw error;
    }
  }
}
