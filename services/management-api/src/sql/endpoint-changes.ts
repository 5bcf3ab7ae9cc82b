import { Prisma } from "@herald/common/database/generated/client";
import type { Reads } from "@herald/common/database/queries";
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

export interface ChangesQuery {
  organizationId: string;
  /** Null for all endpoints of the organization, deleted ones too. */
  endpointId: string | null;
  /** Only entries older than this one; null for all. */
  olderThan: string | null;
  limit: number;
}

/**
 * A part of an organization's trail, or of one endpoint's, newest first.
 *
 * Locks nothing. Walks endpoint_change_organization_id_id_idx or endpoint_change_endpoint_id_id_idx backwards.
 */
export async function endpointChanges(
  queries: Reads,
  { organizationId, endpointId, olderThan, limit }: ChangesQuery,
): Promise<ChangeRow[]> {
  return await queries.$queryRaw<ChangeRow[]>`
    select id, endpoint_id as "endpointId", endpoint_name as "endpointName", revision, changed_at as "changedAt",
           changed_by::text as "changedBy", subject, name, before, after, secret_replaced as "secretReplaced", resent, delivered
    from endpoint_change
    where organization_id = ${organizationId}
      ${endpointId === null ? Prisma.empty : Prisma.sql`and endpoint_id = ${endpointId}::uuid`}
      ${olderThan === null ? Prisma.empty : Prisma.sql`and id < ${olderThan}::uuid`}
    order by id desc
    limit ${limit}`;
}
