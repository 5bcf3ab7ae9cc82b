import { firstIdAt } from "@herald/common/database/first-id-at";
import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { DeliveryRow } from "../deliveries/summary.ts";
import type { EndpointRow } from "../endpoints/summary.ts";

export interface OverviewRow extends EndpointRow {
  disabledReason: "paused" | "failures" | null;
  disabledAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
  failureRun: string[];
  pending: number;
  parked: number;
  lastDelivery: DeliveryRow | null;
  /** The hours that have deliveries, numbered from `since`. */
  hours: HourRow[];
}

export interface HourRow {
  hour: number;
  succeeded: number;
  waiting: number;
  failing: number;
  exhausted: number;
}

export interface OverviewQuery {
  organizationId: string;
  /** One endpoint, or null for all of the organization's. */
  endpointId: string | null;
  /** Beginning of the first hour. */
  since: Date;
  /** How many deliveries are counted into the hours at most, newest first. */
  maxDeliveries: number;
  /** Where counting the unfinished deliveries stops. */
  maxCount: number;
}

/** The clock that made a delivery's id and the clock that dated its row may be this far apart. */
const CLOCK_SLACK_MS = 3_600_000;

/**
 * The state of endpoints: their configuration, what is unfinished, the newest delivery, and the last hours' deliveries.
 *
 * Locks nothing. Walks, each with a bound: delivery_organization_id_id_idx (or delivery_endpoint_id_id_idx for one
 * endpoint) backwards to the first delivery older than `since`, which shows in the ids (UUIDv7), so no row is read for it;
 * delivery_pending and delivery_parked once an endpoint; delivery_endpoint_id_id_idx for the newest.
 */
export async function endpointOverviews(queries: Queries, query: OverviewQuery): Promise<OverviewRow[]> {
  const { organizationId, endpointId, since, maxDeliveries, maxCount } = query;
  const ofEndpoint = endpointId === null ? Prisma.empty : Prisma.sql`and id = ${endpointId}::uuid`;
  const whose =
    endpointId === null
      ? Prisma.sql`organization_id = ${organizationId}`
      : Prisma.sql`endpoint_id = (
          select id from webhook_endpoint where id = ${endpointId}::uuid and organization_id = ${organizationId}
        )`;
  return await queries.$queryRaw<OverviewRow[]>`
    with recent as (
      select endpoint_id, state, status_code, created_at
      from delivery
      where ${whose} and id >= ${firstIdAt(new Date(since.getTime() - CLOCK_SLACK_MS))}::uuid
      order by id desc
      limit ${maxDeliveries}
    ), hour as (
      select endpoint_id,
             floor(extract(epoch from created_at - ${since}::timestamptz) / 3600)::int as hour,
             count(*) filter (where state = 'succeeded')::int as succeeded,
             count(*) filter (where state in ('pending', 'parked') and status_code is null)::int as waiting,
             count(*) filter (where state in ('pending', 'parked') and status_code is not null)::int as failing,
             count(*) filter (where state = 'exhausted')::int as exhausted
      from recent
      where created_at >= ${since}::timestamptz
      group by 1, 2
    ), picture as (
      select endpoint_id,
             json_agg(json_build_object('hour', hour, 'succeeded', succeeded, 'waiting', waiting, 'failing', failing,
                                        'exhausted', exhausted)) as hours
      from hour
      group by 1
    )
    select endpoint.id, name, url, enabled, consecutive_failures as "consecutiveFailures", events, revision,
           disabled_reason::text as "disabledReason", disabled_at as "disabledAt", endpoint.created_at as "createdAt",
           endpoint.updated_at as "updatedAt", failure_run as "failureRun",
           pending.count as pending, parked.count as parked, newest.delivery as "lastDelivery",
           coalesce(picture.hours, '[]') as hours
    from (
      select * from webhook_endpoint where organization_id = ${organizationId} ${ofEndpoint}
    ) as endpoint
    left join picture on picture.endpoint_id = endpoint.id
    cross join lateral (
      select count(*)::int from (
        select from delivery where endpoint_id = endpoint.id and state = 'pending' limit ${maxCount}
      ) as counted
    ) as pending
    cross join lateral (
      select count(*)::int from (
        select from delivery where endpoint_id = endpoint.id and state = 'parked' limit ${maxCount}
      ) as counted
    ) as parked
    left join lateral (
      select json_build_object('id', id, 'businessEventId', business_event_id, 'eventType', event_type,
                               'state', state, 'attemptCount', attempt_count, 'statusCode', status_code,
                               'errorSummary', error_summary, 'attemptedAt', attempted_at) as delivery
      from delivery
      where endpoint_id = endpoint.id
      order by id desc
      limit 1
    ) as newest on true
    order by lower(name), endpoint.id`;
}
