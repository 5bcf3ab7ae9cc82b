import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt } from "@herald/common/database/ids";
import type { Reads } from "@herald/common/database/queries";

export const REASONS = ["failures", "paused"] as const;
export const COUNTED_AT_MOST = 1_000;
const PAGE_SIZE = 100;

/** All that is given has to fit. */
export interface Selection {
  id?: string | undefined;
  organizationId?: string | undefined;
  /** Disabled at this time or later, and still. */
  disabledSince?: Date | undefined;
  reason?: (typeof REASONS)[number] | undefined;
}

export interface StoredEndpoint {
  id: string;
  organizationId: string;
  name: string;
  url: string;
  events: string[];
  headerNames: string[];
  enabled: boolean;
  revision: bigint;
  disabledReason: (typeof REASONS)[number] | null;
  disabledAt: Date | null;
  disabledBy: string | null;
  quarantinedAt: Date | null;
  consecutiveFailures: number;
  pausedUntil: Date | null;
  createdAt: Date;
  /** Deliveries that wait for it; counted to {@link COUNTED_AT_MOST}. */
  waiting: number;
}

/**
 * The endpoints of a selection, by id, read in pages. One that changes between two pages may be left out.
 *
 * Locks nothing. Walks webhook_endpoint_organization_id_id_idx for an organization, else webhook_endpoint_pkey, however few
 * are disabled, since only an operator asks; and due_pkey for each endpoint of the page.
 */
export async function* storedEndpoints(
  queries: Reads,
  { id, organizationId, disabledSince, reason }: Selection,
): AsyncGenerator<StoredEndpoint> {
  const conditions = [
    id !== undefined && Prisma.sql`endpoint.id = ${id}::uuid`,
    organizationId !== undefined && Prisma.sql`organization_id = ${organizationId}`,
    disabledSince !== undefined && Prisma.sql`not enabled and disabled_at >= ${disabledSince}::timestamptz`,
    reason !== undefined && Prisma.sql`not enabled and disabled_reason::text = ${reason}`,
  ].filter((condition) => condition !== false);
  for (let after: string | undefined = firstIdAt(new Date(0)); after !== undefined; ) {
    const page: StoredEndpoint[] = await queries.$queryRaw<StoredEndpoint[]>`
      select endpoint.id, organization_id as "organizationId", name, url, events, enabled, revision,
             array(select jsonb_object_keys(headers) order by 1) as "headerNames",
             disabled_reason::text as "disabledReason", disabled_at as "disabledAt", disabled_by as "disabledBy",
             quarantined_at as "quarantinedAt", consecutive_failures as "consecutiveFailures",
             paused_until as "pausedUntil", created_at as "createdAt", waiting.count as waiting
      from webhook_endpoint as endpoint
      cross join lateral (
        select count(*)::int from (
          select from due where shard = shard_of(endpoint.id) and endpoint_id = endpoint.id limit ${COUNTED_AT_MOST}::int
        ) as counted
      ) as waiting
      where endpoint.id > ${after}::uuid and ${Prisma.join(conditions, " and ")}
      order by endpoint.id
      limit ${PAGE_SIZE}::int`;
    yield* page;
    after = page.length < PAGE_SIZE ? undefined : page.at(-1)?.id;
  }
}

export interface DeletedEndpoint {
  id: string;
  organizationId: string;
  name: string;
  deletedAt: Date;
  deletedBy: string;
}

/**
 * Deleted endpoints, by their deletion in the trail, which is kept as long as deliveries are: an organization's, or the one with this id.
 *
 * Locks nothing. Walks endpoint_change_organization_id_id_idx or endpoint_change_endpoint_id_id_idx backwards.
 */
export async function deletedEndpoints(
  queries: Reads,
  { id, organizationId, since = new Date(0) }: { id?: string; organizationId?: string; since?: Date },
): Promise<DeletedEndpoint[]> {
  const whose =
    id === undefined ? Prisma.sql`organization_id = ${organizationId}` : Prisma.sql`endpoint_id = ${id}::uuid`;
  return await queries.$queryRaw<DeletedEndpoint[]>`
    select endpoint_id as id, organization_id as "organizationId", endpoint_name as name, changed_at as "deletedAt",
           coalesce(name, subject, changed_by::text) as "deletedBy"
    from endpoint_change
    where ${whose} and id >= ${firstIdAt(since)}::uuid and before is not null and after is null
    order by endpoint_change.id desc
    limit ${PAGE_SIZE}::int`;
}
