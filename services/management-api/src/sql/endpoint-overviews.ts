import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt } from "@herald/common/database/ids";
import type { Reads } from "@herald/common/database/queries";
import type { EndpointRow } from "@herald/common/database/update-endpoint";
import { outcome, summaryObject } from "@herald/common/history/sql/deliveries";
import type { DeliveryRow } from "@herald/common/history/summary";
import { type EndpointOverview, type HourOfDeliveries, RECENT_DELIVERIES } from "@herald/contracts";
import { newestDeliveries, ofAllTimes } from "./newest-deliveries.ts";

type Unchanged = Pick<EndpointOverview, "headerNames" | "disabledReason" | "disabledBy" | "unfinished">;

export interface OverviewRow extends EndpointRow, Unchanged {
  disabledAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
  failureRun: string[];
  nextTryAt: Date | null;
  outageSince: Date | null;
  stoppedSince: Date | null;
  quarantinedAt: Date | null;
  lastDelivery: DeliveryRow | null;
  /** The oldest delivery that was counted, if there may be older ones in the hours; else null. */
  oldestCounted: string | null;
  /** The hours that have deliveries, numbered from the first of `hours`. */
  hours: HourRow[];
}

export type HourRow = Omit<HourOfDeliveries, "startUtc"> & { hour: number };

export interface OverviewQuery {
  organizationId: string;
  /** One endpoint, or null for all of the organization's. */
  endpointId: string | null;
  /** The beginnings of the hours, in their order. The last one has no end. */
  hours: readonly Date[];
  /** How many deliveries are counted into the hours at most, newest first. */
  maxDeliveries: number;
  /** Where counting the unfinished deliveries stops. */
  maxCount: number;
}

/**
 * The state of endpoints: their configuration, what is unfinished, when a failing one is tried again, the delivery that was
 * attempted last, and the hours' deliveries, by the time in their ids; and since when a dispatcher can reach no receiver.
 *
 * Nothing is indexed by the time of attempts, which changes. So the last attempt is looked for among the hours' deliveries, the
 * last of the run of failures, and the newest delivery of all.
 *
 * Locks nothing. Walks, each with a bound: what {@link newestDeliveries} walks (or delivery_endpoint_id_id_idx for one
 * endpoint), in the partitions of the hours; due_pkey twice an endpoint; `process`, which has a row for each process,
 * and `shard`, which has 256; for its last delivery
 * delivery_endpoint_id_id_idx, partition by partition from the newest, delivery_pkey and business_event_pkey. The newest delivery is
 * no scalar subquery: PostgreSQL 18 evaluates one that stands there once, for the first endpoint, and not for each.
 */
export async function endpointOverviews(queries: Reads, query: OverviewQuery): Promise<OverviewRow[]> {
  const { organizationId, endpointId, maxDeliveries, maxCount } = query;
  const starts = query.hours.map(firstIdAt);
  const since = starts[0] ?? firstIdAt(new Date(0));
  const newest =
    endpointId === null
      ? newestDeliveries({ organizationId, since, recently: since, limit: maxDeliveries })
      : Prisma.sql`newest as (
          select *
          from delivery
          where endpoint_id = (
              select id from webhook_endpoint where id = ${endpointId}::uuid and organization_id = ${organizationId}
            )
            and id >= ${since}::uuid
          order by id desc
          limit ${maxDeliveries}::int
        )`;
  return await queries.$queryRaw<OverviewRow[]>`
    with ${newest}, hour as (
      select endpoint_id,
             width_bucket(id, ${starts}::uuid[]) - 1 as hour,
             count(*) as total,
             min(id::text) as oldest,
             count(*) filter (where outcome = 'succeeded')::int as succeeded,
             count(*) filter (where outcome = 'succeeded' and attempt_count > 1)::int as "retriedSucceeded",
             count(*) filter (where outcome = 'waiting')::int as waiting,
             count(*) filter (where outcome = 'failing')::int as failing,
             count(*) filter (where outcome = 'parked')::int as parked,
             count(*) filter (where outcome = 'parked' and attempt_count > 0)::int as "parkedFailing",
             count(*) filter (where outcome = 'exhausted')::int as exhausted
      from (
        select delivery.id, endpoint_id, attempt_count, ${outcome} as outcome
        from newest as delivery join webhook_endpoint as endpoint on endpoint.id = endpoint_id
      ) as delivery
      group by 1, 2
    ), picture as (
      select endpoint_id,
             json_agg(json_build_object('hour', hour, 'succeeded', succeeded, 'retriedSucceeded', "retriedSucceeded",
                                        'waiting', waiting, 'failing', failing, 'parked', parked, 'parkedFailing', "parkedFailing", 'exhausted', exhausted)) as hours
      from hour
      group by 1
    ), attempted as (
      select distinct on (endpoint_id) endpoint_id, id, attempted_at
      from newest
      where attempted_at is not null
      order by endpoint_id, attempted_at desc, id desc
    )
    select endpoint.id, name, url, enabled, consecutive_failures as "consecutiveFailures", events, revision,
           array(select jsonb_object_keys(endpoint.headers) order by 1) as "headerNames",
           disabled_reason::text as "disabledReason", disabled_at as "disabledAt", disabled_by as "disabledBy", endpoint.created_at as "createdAt",
           endpoint.updated_at as "updatedAt", failure_run as "failureRun", to_json(unfinished) as unfinished,
           case when enabled and consecutive_failures > 0 then ${nextTryAt} end as "nextTryAt",
           (select min(outage_since) from process where alive_until > now()) as "outageSince",
           (select min(stopped_at) from shard) as "stoppedSince", endpoint.quarantined_at as "quarantinedAt",
           (select min(oldest) from hour having sum(total) >= ${maxDeliveries}::int) as "oldestCounted",
           last.delivery as "lastDelivery", coalesce(picture.hours, '[]') as hours
    from webhook_endpoint as endpoint
    left join picture on picture.endpoint_id = endpoint.id
    cross join lateral (
      select count(*) filter (where counted.enabled and attempts = 0) as waiting,
             count(*) filter (where counted.enabled and attempts > 0) as failing,
             count(*) filter (where not counted.enabled) as parked
      from (
        select attempts, endpoint.enabled
        from due
        where shard = shard_of(endpoint.id) and endpoint_id = endpoint.id
        limit ${maxCount}::int
      ) as counted
    ) as unfinished
    left join lateral (
      select ${summaryObject} as delivery
      from delivery
      where id = (
        select id
        from (
          select id, attempted_at from attempted where endpoint_id = endpoint.id
          union all
          select id, attempted_at from delivery where id = split_part(failure_run[cardinality(failure_run)], '/', 1)::uuid
          union all
          (select id, attempted_at from delivery where endpoint_id = endpoint.id order by id desc limit 1)
        ) as candidate
        order by attempted_at desc nulls last, id desc
        limit 1
      )
    ) as last on true
    where organization_id = ${organizationId}
      ${endpointId === null ? Prisma.empty : Prisma.sql`and endpoint.id = ${endpointId}::uuid`}
    order by lower(name), endpoint.id`;
}

/** When a failing endpoint is tried again: its pause is over, and a delivery is due. It is past while the attempt is under way. */
const nextTryAt = Prisma.sql`(
  select greatest(due_at, paused_until)
  from due
  where shard = shard_of(endpoint.id) and endpoint_id = endpoint.id
  order by due_at
  limit 1
)`;

export type ListedEndpoint = EndpointRow & { deliveries: DeliveryRow[] };

/**
 * An organization's endpoints in the order of their creation, each with its share of the organization's most recent
 * deliveries, newest first.
 *
 * Locks nothing. Walks what {@link newestDeliveries} walks, so the cost doesn't grow with the history, business_event_pkey,
 * and webhook_endpoint_organization_id_id_idx for the endpoints, whose ids (UUIDv7) are in the order of creation. It is one
 * statement, so that a delete at the same time shows in endpoints and deliveries, or in neither.
 */
export async function listEndpoints(
  queries: Reads,
  { organizationId, now }: { organizationId: string; now: Date },
): Promise<ListedEndpoint[]> {
  return await queries.$queryRaw<ListedEndpoint[]>`
    with ${newestDeliveries({ organizationId, ...ofAllTimes(now), limit: RECENT_DELIVERIES })}, share as (
      select endpoint_id, json_agg(${summaryObject} order by id desc) as deliveries
      from newest as delivery
      group by endpoint_id
    )
    select endpoint.id, name, url, enabled, consecutive_failures as "consecutiveFailures", events, revision,
           coalesce(share.deliveries, '[]') as deliveries
    from webhook_endpoint as endpoint
    left join share on share.endpoint_id = endpoint.id
    where organization_id = ${organizationId}
    order by endpoint.id`;
}

/** The ids of an organization's endpoints. Locks nothing. Walks webhook_endpoint_organization_id_id_idx. */
export async function endpointIdsOf(queries: Reads, organizationId: string): Promise<string[]> {
  const rows = await queries.$queryRaw<{ id: string }[]>`
    select id from webhook_endpoint where organization_id = ${organizationId}`;
  return rows.map(({ id }) => id);
}
