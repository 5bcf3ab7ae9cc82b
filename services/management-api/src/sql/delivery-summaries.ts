import type { Queries } from "@herald/common/database/queries";
import { summaryColumns } from "@herald/common/history/sql/delivery-columns";
import type { DeliveryRow } from "@herald/common/history/summary";
import { RECENT_DELIVERIES } from "@herald/contracts";
import { newestDeliveries, ofAllTimes } from "./newest-deliveries.ts";

/**
 * One delivery; null where the organization has none with this id, of an endpoint that exists. Locks nothing. Walks delivery_pkey,
 * webhook_endpoint_pkey and business_event_pkey.
 */
export async function deliverySummary(
  queries: Queries,
  { id, organizationId }: { id: string; organizationId: string },
): Promise<DeliveryRow | null> {
  const [row] = await queries.$queryRaw<DeliveryRow[]>`
    select ${summaryColumns}
    from delivery
    where id = ${id}::uuid and organization_id = ${organizationId}
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
    select ${summaryColumns}
    from newest as delivery
    where endpoint_id = ${endpointId}::uuid
    order by id desc`;
}
