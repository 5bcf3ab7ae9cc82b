import type { Queries } from "@herald/common/database/queries";
import type { StoredHealth } from "./rows.ts";

/** An enabled endpoint with unfinished deliveries. */
export interface EndpointWithWork extends StoredHealth {
  endpointId: string;
  organizationId: string;
  /** The time of its first row. */
  dueAt: Date;
  revision: bigint;
}

/**
 * Finds the enabled endpoints of some shards that have rows which are due by a time, with the first row of each; also if that row is later than
 * `latestDue`, since it was written before PostgreSQL's clock was set back. It steps from endpoint to endpoint, so its cost depends on the endpoints
 * with work, and neither on the rows of an endpoint nor on the number of all endpoints.
 *
 * Locks nothing. Walks due_pkey, once an endpoint with work, and webhook_endpoint_pkey.
 */
export async function findEndpointsWithWork(
  queries: Queries,
  shards: readonly number[],
  { dueBy, latestDue }: { dueBy: Date; latestDue: Date },
): Promise<EndpointWithWork[]> {
  return await queries.$queryRaw<EndpointWithWork[]>`
    with recursive step as (
      select own.shard, first.*
      from unnest(${shards}::smallint[]) as own (shard)
      cross join lateral (
        select endpoint_id, due_at from due
        where due.shard = own.shard
        order by endpoint_id, due_at
        limit 1
      ) as first
      union all
      select step.shard, next.*
      from step
      cross join lateral (
        select endpoint_id, due_at from due
        where due.shard = step.shard and due.endpoint_id > step.endpoint_id
        order by endpoint_id, due_at
        limit 1
      ) as next
    )
    select endpoint_id as "endpointId", endpoint.organization_id as "organizationId", due_at as "dueAt",
      endpoint.revision as "revision", endpoint.consecutive_failures as "failures", endpoint.paused_until as "pausedUntil"
    from step
    join webhook_endpoint as endpoint on endpoint.id = step.endpoint_id and endpoint.enabled
    where due_at <= ${dueBy}::timestamptz or due_at > ${latestDue}::timestamptz`;
}
