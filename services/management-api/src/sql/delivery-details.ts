import type { Reads } from "@herald/common/database/queries";
import { historyColumns } from "@herald/common/history/sql/delivery-columns";
import type { HistoryRow } from "@herald/common/history/summary";
import type { FailureKind } from "@herald/contracts";

export interface DetailsRow extends HistoryRow {
  /** Null where the delivery's event is no longer stored. */
  body: string | null;
  /** The delivery that it sends again; null where it is no part of a resend. */
  resendOf: string | null;
  /** The admin who sent the manual delivery, or started the resend. */
  author: string | null;
  traceparent: string | null;
  attempts: AttemptRow[];
}

export interface AttemptRow {
  number: number;
  startedAt: string;
  durationMs: number;
  statusCode: number;
  errorSummary: string | null;
  failureKind: FailureKind | null;
  responseExcerpt: string | null;
  /** The trace context that was sent, where it was not the event's. */
  traceparent: string | null;
}

/**
 * One delivery with its body and its attempts, oldest first; null where the endpoint has no delivery with this id, or there
 * is no such endpoint. Locks nothing. Walks delivery_pkey, webhook_endpoint_pkey, business_event_pkey and
 * delivery_attempt_pkey, each in one partition.
 */
export async function deliveryDetails(
  queries: Reads,
  { id, endpointId, organizationId, now }: { id: string; endpointId: string; organizationId: string; now: Date },
): Promise<DetailsRow | null> {
  const [row] = await queries.$queryRaw<DetailsRow[]>`
    select ${historyColumns(now)}, endpoint.name as "endpointName", endpoint.enabled as "isEndpointEnabled", coalesce(delivery.body, event.body) as body,
           delivery.resend_of as "resendOf", delivery.author,
           event.traceparent, attempts.list as attempts
    from delivery
    join webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
    left join lateral (
      select body, traceparent
      from business_event
      where organization_id = delivery.organization_id and key = delivery.event_key
      offset 0
    ) as event on true
    cross join lateral (
      select coalesce(json_agg(json_build_object(
               'number', number,
               'startedAt', started_at,
               'durationMs', duration_ms,
               'statusCode', status_code,
               'errorSummary', error_summary,
               'failureKind', failure_kind,
               'responseExcerpt', response_excerpt,
               'traceparent', traceparent
             ) order by number), '[]') as list
      from attempt
      where delivery_id = ${id}::uuid
    ) as attempts
    where delivery.id = ${id}::uuid
      and endpoint.id = ${endpointId}::uuid
      and endpoint.organization_id = ${organizationId}`;
  return row ?? null;
}
