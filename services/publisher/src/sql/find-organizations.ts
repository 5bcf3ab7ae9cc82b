import type { Queries } from "@herald/common/database/queries";

export interface PassedOrganization {
  organizationId: string;
  /** It has events that occurred before the time asked for. */
  isOld: boolean;
}

/**
 * Steps from organization to organization through the events, each once and in one order, and says which have old ones.
 * The cost is two index probes an organization, however many events each has.
 *
 * Locks nothing. Walks business_event_organization_id_occurred_at_id_idx by skipping.
 */
export async function findOrganizations(
  queries: Queries,
  { after, occurredBefore, limit }: { after: string; occurredBefore: Date; limit: number },
): Promise<PassedOrganization[]> {
  return await queries.$queryRaw<PassedOrganization[]>`
    with recursive walk (organization_id, step) as (
      (
        select organization_id, 1 from business_event
        where organization_id > ${after}
        order by organization_id
        limit 1
      )
      union all
      select following.organization_id, walk.step + 1
      from walk
      cross join lateral (
        select organization_id from business_event
        where organization_id > walk.organization_id
        order by organization_id
        limit 1
      ) as following
      where walk.step < ${limit}
    )
    select
      organization_id as "organizationId",
      -- The earliest one, and not whether any is old: for that PostgreSQL might read the table until it meets one.
      (
        select event.occurred_at from business_event as event
        where event.organization_id = walk.organization_id
        order by event.occurred_at
        limit 1
      ) < ${occurredBefore}::timestamptz as "isOld"
    from walk
    order by step`;
}
