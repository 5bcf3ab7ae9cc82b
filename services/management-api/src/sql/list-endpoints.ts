import type { Reads } from "@herald/common/database/queries";
import type { EndpointRow } from "@herald/common/database/update-endpoint";
import { summaryObject } from "@herald/common/history/sql/delivery-columns";
import type { DeliveryRow } from "@herald/common/history/summary";
import { RECENT_DELIVERIES } from "@herald/contracts";
import { newestDeliveries, ofAllTimes } from "./newest-deliveries.ts";

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
