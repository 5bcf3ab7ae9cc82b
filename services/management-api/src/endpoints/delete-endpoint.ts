import type { Author } from "@herald/common/database/endpoint-change";
import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { deleteEndpointRow } from "../sql/delete-endpoint.ts";
import { type EndpointKey, parseVersion, refuseVersion } from "./find-endpoint.ts";
import type { TellOwner } from "./tell-owner.ts";

/**
 * How long a fan-out or a manual delivery that has seen the endpoint may still add deliveries to it: longer than any statement
 * may take (DATABASE_TIMEOUT_SECONDS).
 */
const LATE_DELIVERIES_MS = 15 * 60_000;

/**
 * Deletes an endpoint and its subscriptions at once, with its whole history (SPEC 3.1, 4.1.5): nothing of it can be read from
 * now on, and the publisher erases the rows. Receivers keep what they got, and an attempt under way may still arrive.
 *
 * @throws ProblemError `webhook_not_found`, or `version_conflict` where the client has read another version
 */
export async function deleteEndpoint(
  { prisma, queries, clock, tellOwner }: { prisma: PrismaClient; queries: Queries; clock: Clock; tellOwner: TellOwner },
  key: EndpointKey,
  version: string,
  author: Author,
): Promise<void> {
  const now = clock.now();
  const eraseUntil = new Date(now.getTime() + LATE_DELIVERIES_MS);
  const revision = parseVersion(version) ?? 0n;
  if (!(await deleteEndpointRow(queries, { ...key, revision, author, now, eraseUntil })))
    await refuseVersion(prisma, key);
  await tellOwner(key);
}
