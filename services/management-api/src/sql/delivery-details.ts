import type { Queries } from "@herald/common/database/queries";
import type { HistoryRow } from "./delivery-history.ts";

export interface DetailsRow extends HistoryRow {
  /** Null where the delivery's event is no longer stored. */
  body: string | null;
  traceparent: string | null;
  attempts: AttemptRow[];
}

export interface AttemptRow {
  number: number;
  startedAt: string;
  durationMs: number;
  statusCode: number;
  errorSummary: string | null;
  responseExcerpt: string | null;
}

/**
 * One delivery with its body and its attempts, oldest first; null where the endpoint has no delivery with this id.
 * Locks nothing. Walks delivery_pkey, business_event_pkey and delivery_attempt_pkey.
 */
export async function deliveryDetails(
  queries: Queries,
  { id, endpointId, organizationId }: { id: string; endpointId: string; organizationId: string },
): Promise<DetailsRow | null> {
  const [row] = await queries.$queryRaw<DetailsRow[]>`
    select delivery.id, business_event_id as "businessEventId", event_type as "eventType", state::text,
           attempt_count as "attemptCount", in_flight as "inFlight", delivery.status_code as "statusCode",
           delivery.error_summary as "errorSummary", attempted_at as "attemptedAt",
           delivery.created_at as "createdAt", next_attempt_at as "nextAttemptAt",
           coalesce(delivery.body, event.body) as body, event.traceparent, attempt.list as attempts,
           attempt.duration_ms as "durationMs"
    from delivery
    left join business_event as event
      on event.organization_id = delivery.organization_id and event.id = delivery.business_event_id
    cross join lateral (
      select coalesce(json_agg(json_build_object(
               'number', number,
               'startedAt', started_at,
               'durationMs', duration_ms,
               'statusCode', status_code,
               'errorSummary', error_summary,
               'responseExcerpt', response_excerpt
             ) order by number), '[]') as list,
             (array_agg(duration_ms order by number desc))[1] as duration_ms
      from delivery_attempt
      where delivery_id = delivery.id
    ) as attempt
    where delivery.id = ${id}::uuid
      and delivery.endpoint_id = ${endpointId}::uuid
      and delivery.organization_id = ${organizationId}`;
  return row ?? null;
}
