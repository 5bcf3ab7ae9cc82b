import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { EndpointRow } from "../endpoints/summary.ts";

export interface EndpointUpdate {
  id: string;
  organizationId: string;
  /** The revision that the client has read. The row is changed only if it is still in this revision. */
  revision: bigint;
  name: string;
  url: string;
  enabled: boolean;
  events: string[];
  /** Null keeps the secret. */
  sealedSecret: string | null;
  now: Date;
  catchUpUntil: Date;
}

/**
 * Changes an endpoint, and decides in the same statement what follows from how it was before (SPEC 3.1):
 *
 * - resumed: the run of failures ends, and the publisher is told to catch up
 * - subscribed to more events: the publisher is told to catch up
 * - paused: the reason and the time are stored; an endpoint that Herald disabled keeps its own
 *
 * Returns null where the organization has no such endpoint in that revision.
 *
 * Locks the endpoint. Walks webhook_endpoint_pkey. Of two edits of one revision the second waits for the first, and then
 * finds another revision. Every edit makes a new revision, also an edit that changes nothing.
 */
export async function updateEndpoint(queries: Queries, update: EndpointUpdate): Promise<EndpointRow | null> {
  const { id, organizationId, revision, name, url, enabled, events, sealedSecret, now, catchUpUntil } = update;
  // In these two conditions a column has its value from before the edit.
  const resumed = Prisma.sql`(${enabled} and not enabled)`;
  const hasNewEvents = Prisma.sql`(${enabled} and not (enabled and events @> ${events}::text[]))`;
  const [row] = await queries.$queryRaw<EndpointRow[]>`
    update webhook_endpoint
    set name = ${name},
        url = ${url},
        enabled = ${enabled},
        events = ${events}::text[],
        sealed_secret = coalesce(${sealedSecret}, sealed_secret),
        revision = revision + 1,
        consecutive_failures = case when ${resumed} then 0 else consecutive_failures end,
        failure_run = case when ${resumed} then '{}' else failure_run end,
        disabled_reason = case when ${enabled} then null when enabled then 'paused' else disabled_reason end,
        disabled_at = case when ${enabled} then null when enabled then ${now}::timestamptz else disabled_at end,
        catch_up_at = case when ${hasNewEvents} then ${now}::timestamptz else catch_up_at end,
        catch_up_until = case when ${hasNewEvents} then ${catchUpUntil}::timestamptz else catch_up_until end,
        updated_at = ${now}::timestamptz
    where id = ${id}::uuid and organization_id = ${organizationId} and revision = ${revision}
    returning id, name, url, enabled, consecutive_failures as "consecutiveFailures", events, revision`;
  return row ?? null;
}
