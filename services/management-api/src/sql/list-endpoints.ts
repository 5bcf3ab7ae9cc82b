import type { Queries } from "@herald/common/database/queries";
import { RECENT_DELIVERIES } from "@herald/contracts";
import type { DeliveryRow } from "../deliveries/summary.ts";
import type { EndpointRow } from "../endpoints/summary.ts";

export type ListedEndpoint = EndpointRow & { deliveries: DeliveryRow[] };

/**
 * An organization's endpoints in the order of their creation, each with its share of the organization's most recent
 * deliveries, newest first.
 *
 * Locks nothing. Walks delivery_organization_id_id_idx backwards and stops at 200, so the cost doesn't grow with the
 * history, and webhook_endpoint_organization_id_id_idx for the endpoints, whose ids (UUIDv7) are in the order of creation.
 * It is one statement, so that a delete at the same time shows in endpoints and deliveries, or in neither.
 */
export async function listEndpoints(queries: Queries, organizationId: string): Promise<ListedEndpoint[]> {
  return await queries.$queryRaw<ListedEndpoint[]>`
    with recent as (
      select id, endpoint_id, business_event_id, event_type, state::text as state, attempt_count, status_code,
             error_summary, attempted_at
      from delivery
      where organization_id = ${organizationId}
      order by id desc
      limit ${RECENT_DELIVERIES}
    ), shares as (
      select endpoint_id,
             json_agg(json_build_object(
               'id', id,
               'businessEventId', business_event_id,
               'eventType', event_type,
               'state', state,
               'attemptCount', attempt_count,
               'statusCode', status_code,
               'errorSummary', error_summary,
               'attemptedAt', attempted_at
             ) order by id desc) as deliveries
      from recent
      group by endpoint_id
    )
    select endpoint.id, name, url, enabled, consecutive_failures as "consecutiveFailures", events, revision,
           coalesce(shares.deliveries, '[]') as deliveries
    from webhook_endpoint as endpoint
    left join shares on shares.endpoint_id = endpoint.id
    where organization_id = ${organizationId}
    order by endpoint.id`;
}
