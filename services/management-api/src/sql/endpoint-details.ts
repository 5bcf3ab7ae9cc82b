import type { Queries } from "@herald/common/database/queries";

export interface FailedAttemptRow {
  deliveryId: string;
  attemptNumber: number;
  eventType: string;
  attemptedAt: Date;
  durationMs: number;
  statusCode: number;
  errorSummary: string | null;
  responseExcerpt: string | null;
}

/**
 * The attempts that an endpoint's run of failures names ("<delivery id>/<number>"), in the order of the run.
 * Locks nothing. Walks delivery_attempt_pkey and delivery_pkey, once an attempt.
 */
export async function failedAttempts(queries: Queries, failureRun: readonly string[]): Promise<FailedAttemptRow[]> {
  if (failureRun.length === 0) return [];
  return await queries.$queryRaw<FailedAttemptRow[]>`
    select attempt.delivery_id as "deliveryId", attempt.number as "attemptNumber", delivery.event_type as "eventType",
           attempt.started_at as "attemptedAt", attempt.duration_ms as "durationMs",
           attempt.status_code as "statusCode", attempt.error_summary as "errorSummary",
           attempt.response_excerpt as "responseExcerpt"
    from unnest(${failureRun}::text[]) with ordinality as run (entry, position)
    join delivery_attempt as attempt
      on attempt.delivery_id = split_part(entry, '/', 1)::uuid and attempt.number = split_part(entry, '/', 2)::int
    join delivery on delivery.id = attempt.delivery_id
    order by position`;
}

/**
 * Counts the events that an endpoint would get if it were enabled now, besides its parked deliveries: the events of the
 * window that it subscribes to and has no delivery for. Looks at the newest `maxEvents` of the organization's events.
 *
 * Locks nothing. Walks business_event_organization_id_occurred_at_id_idx backwards, and
 * delivery_endpoint_id_business_event_id_key for each event of a subscribed type.
 */
export async function missedEvents(
  queries: Queries,
  { endpointId, windowStart, maxEvents }: { endpointId: string; windowStart: Date; maxEvents: number },
): Promise<{ missed: number; isMinimum: boolean }> {
  const [row] = await queries.$queryRaw<{ missed: number; seen: number }[]>`
    with endpoint as (
      select id, organization_id, events, created_at from webhook_endpoint where id = ${endpointId}::uuid
    ), event as (
      select event.id, event.type
      from endpoint
      join business_event as event on event.organization_id = endpoint.organization_id
      where event.occurred_at >= greatest(endpoint.created_at, ${windowStart}::timestamptz)
        and event.received_at >= ${windowStart}::timestamptz
      order by event.occurred_at desc
      limit ${maxEvents}
    )
    select count(*)::int as seen,
           count(*) filter (
             where event.type = any (endpoint.events) and not exists (
               select from delivery where endpoint_id = endpoint.id and business_event_id = event.id
             )
           )::int as missed
    from event cross join endpoint`;
  return { missed: row?.missed ?? 0, isMinimum: (row?.seen ?? 0) === maxEvents };
}
