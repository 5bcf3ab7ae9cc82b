import { onDaysOf } from "@herald/common/database/days";
import type { Queries, Reads } from "@herald/common/database/queries";
import { historyColumns, summaryColumns } from "@herald/common/history/sql/deliveries";
import type { DeliveryRow, HistoryRow } from "@herald/common/history/summary";
import { type DeliveryAttemptInfo, RECENT_DELIVERIES } from "@herald/contracts";
import { newestDeliveries, ofAllTimes } from "./newest-deliveries.ts";

export interface DetailsRow extends HistoryRow {
  /** Null if the delivery's event is no longer stored. */
  body: string | null;
  /** The delivery that it sends again; null if it is no part of a resend. */
  resendOf: string | null;
  /** The admin who sent the manual delivery, or started the resend. */
  author: string | null;
  traceparent: string | null;
  attempts: AttemptRow[];
}

export interface AttemptRow extends Omit<DeliveryAttemptInfo, "attemptedAtUtc" | "timestamp" | "headers"> {
  startedAt: string;
  /** The trace context that was sent, if it was not the event's. */
  traceparent: string | null;
}

/**
 * One delivery with its body and its attempts, oldest first; null if the endpoint has no delivery with this id, or there
 * is no such endpoint. Locks nothing. Walks delivery_pkey, webhook_endpoint_pkey, business_event_pkey and
 * delivery_attempt_pkey, each in one partition.
 */
export async function deliveryDetails(
  queries: Reads,
  { id, endpointId, organizationId, now }: { id: string; endpointId: string; organizationId: string; now: Date },
): Promise<DetailsRow | null> {
  const [row] = await queries.$queryRaw<DetailsRow[]>`
    select ${historyColumns(now, onDaysOf("event.key", [id]))}, endpoint.name as "endpointName", coalesce(delivery.body, event.body) as body,
           delivery.resend_of as "resendOf", delivery.author,
           event.traceparent, attempts.list as attempts
    from delivery
    join webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
    left join lateral (
      select body, traceparent
      from business_event
      where organization_id = delivery.organization_id and key = delivery.event_key and ${onDaysOf("key", [id])}
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
      where delivery_id = ${id}::uuid and ${onDaysOf("delivery_id", [id])}
    ) as attempts
    where delivery.id = ${id}::uuid and ${onDaysOf("delivery.id", [id])}
      and endpoint.id = ${endpointId}::uuid
      and endpoint.organization_id = ${organizationId}`;
  return row ?? null;
}

/**
 * One delivery; null if the organization has none with this id, of an endpoint that exists. Locks nothing. Walks delivery_pkey,
 * webhook_endpoint_pkey and business_event_pkey.
 */
export async function deliverySummary(
  queries: Queries,
  { id, organizationId }: { id: string; organizationId: string },
): Promise<DeliveryRow | null> {
  const [row] = await queries.$queryRaw<DeliveryRow[]>`
    select ${summaryColumns(onDaysOf("event.key", [id]))}
    from delivery
    where id = ${id}::uuid and ${onDaysOf("id", [id])} and organization_id = ${organizationId}
      and exists (select from webhook_endpoint where id = delivery.endpoint_id)`;
  return row ?? null;
}

/**
 * One endpoint's share of its organization's most recent deliveries, newest first: the same share that the list of
 * endpoints shows. Locks nothing. Walks what {@link newestDeliveries} walks, and business_event_pkey.
 */
export async function recentDeliveries(
  queries: Queries,
  { organizationId, endpointId, now }: { organizationId: string; endpointId: string; now: Date },
): Promise<DeliveryRow[]> {
  return await queries.$queryRaw<DeliveryRow[]>`
    with ${newestDeliveries({ organizationId, ...ofAllTimes(now), limit: RECENT_DELIVERIES })}
    select ${summaryColumns()}
    from newest as delivery
    where endpoint_id = ${endpointId}::uuid
    order by id desc`;
}
