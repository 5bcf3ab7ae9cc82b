import type { Queries } from "@herald/common/database/queries";

export interface DueEndpoints {
  /** Enabled endpoints with at least one delivery that is due. */
  enabled: string[];
  /** Disabled ones: their deliveries are to be parked. */
  disabled: string[];
  /** Where the next look goes on; null when this one came to the end. */
  next: string | null;
}

/** Endpoints with unfinished deliveries that one look passes at the most; each costs two index probes. */
const STEPS_PER_LOOK = 2_000;

/**
 * Finds endpoints that have due deliveries, by stepping from endpoint to endpoint: the cost follows the number of
 * endpoints with unfinished deliveries, however many deliveries each of them has, so no backlog hides another's.
 *
 * Locks nothing. Walks delivery_due for its first row, then delivery_pending by skipping from one endpoint to the next.
 */
export async function findDueEndpoints(
  queries: Queries,
  { now, after, limit }: { now: Date; after: string | null; limit: number },
): Promise<DueEndpoints> {
  const [row] = await queries.$queryRaw<DueEndpoints[]>`
    with recursive walk (endpoint_id, step) as (
      (
        select endpoint_id, 1 from delivery
        where state = 'pending' and endpoint_id > ${after ?? ZERO_UUID}::uuid
          -- Most looks end here: nothing at all is due.
          and exists (select from delivery where state = 'pending' and next_attempt_at <= ${now}::timestamptz)
        order by endpoint_id
        limit 1
      )
      union all
      select following.endpoint_id, walk.step + 1
      from walk
      cross join lateral (
        select endpoint_id from delivery
        where state = 'pending' and endpoint_id > walk.endpoint_id
        order by endpoint_id
        limit 1
      ) as following
      where walk.step < ${STEPS_PER_LOOK}
    ), due as (
      select walk.endpoint_id, walk.step, endpoint.enabled
      from walk
      join webhook_endpoint as endpoint on endpoint.id = walk.endpoint_id
      where exists (
        select from delivery
        where delivery.endpoint_id = walk.endpoint_id and state = 'pending' and next_attempt_at <= ${now}::timestamptz
      )
      order by walk.step
      limit ${limit}
    )
    select
      coalesce(array_agg(endpoint_id) filter (where enabled), '{}') as "enabled",
      coalesce(array_agg(endpoint_id) filter (where not enabled), '{}') as "disabled",
      case
        when count(*) = ${limit} then (select endpoint_id from due order by step desc limit 1)
        else (select endpoint_id from walk where step = ${STEPS_PER_LOOK})
      end as "next"
    from due`;
  if (!row) throw new Error("PostgreSQL answered an aggregate with no row.");
  return row;
}

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
