import { Prisma } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import type { EndpointChange } from "@herald/contracts";

export interface Settings {
  name: string;
  url: string;
  enabled: boolean;
  events: string[];
  /** Absent without own headers. */
  headerNames?: string[];
  /** The names of own headers that got a value by the change; absent if none did. */
  headerValues?: string[];
}

type Unchanged = "endpointId" | "endpointName" | "changedBy" | "subject" | "name" | "secretReplaced" | "resent";

/** An entry of the trail: a change of settings, a deletion, or what was sent, which touches no setting. */
export interface ChangeRow extends Pick<EndpointChange, Unchanged> {
  id: string;
  revision: bigint;
  changedAt: Date;
  before: Settings | null;
  after: Settings | null;
  /** The event of a manual delivery; null for all others. */
  delivered: string | null;
}

/**
 * A part of an organization's trail, or of one endpoint's, newest first.
 *
 * An edit that changed nothing is in the trail only if it has an idempotency key, and is not listed.
 *
 * Locks nothing. Walks endpoint_change_organization_id_id_idx or endpoint_change_endpoint_id_id_idx backwards.
 */
export async function endpointChanges(
  queries: Reads,
  of: { organizationId: string; endpointId: string | null },
  { olderThan, limit }: { olderThan: string | null; limit: number },
): Promise<ChangeRow[]> {
  const { organizationId, endpointId } = of;
  return await queries.$queryRaw<ChangeRow[]>`
    select id, endpoint_id as "endpointId", endpoint_name as "endpointName", revision, changed_at as "changedAt",
           changed_by::text as "changedBy", subject, name, before, after, secret_replaced as "secretReplaced", resent, delivered
    from endpoint_change
    where organization_id = ${organizationId}
      and (before = after and not secret_replaced) is not true
      ${endpointId === null ? Prisma.empty : Prisma.sql`and endpoint_id = ${endpointId}::uuid`}
      ${olderThan === null ? Prisma.empty : Prisma.sql`and id < ${olderThan}::uuid`}
    order by id desc
    limit ${limit}`;
}

/** The change that a request with an idempotency key has made; null if it made none. Locks nothing. Walks endpoint_change_request_key. */
export async function changeByRequest(
  queries: Queries,
  { organizationId, requestHash }: { organizationId: string; requestHash: Buffer },
): Promise<{ id: string; endpointId: string } | null> {
  const [row] = await queries.$queryRaw<{ id: string; endpointId: string }[]>`
    select id, endpoint_id as "endpointId" from endpoint_change
    where request = ${requestHash}::bytea and organization_id = ${organizationId}`;
  return row ?? null;
}
