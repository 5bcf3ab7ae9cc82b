import type { Reads } from "../../database/queries.ts";
import type { HistoryRow } from "../summary.ts";
import { deliveryColumns } from "./delivery-columns.ts";

export interface FoundDelivery extends Omit<HistoryRow, "businessEventId" | "entityId"> {
  /** Null for a manual delivery. */
  eventKey: string | null;
}

/**
 * A delivery with its endpoint; null where the organization has none with this id, of an endpoint that exists.
 *
 * Locks nothing. Walks delivery_pkey in one partition, and webhook_endpoint_pkey.
 */
export async function findDelivery(
  queries: Reads,
  { id, organizationId, now }: { id: string; organizationId: string; now: Date },
): Promise<FoundDelivery | null> {
  const [row] = await queries.$queryRaw<FoundDelivery[]>`
    select delivery.event_key as "eventKey",
           endpoint.id as "endpointId", endpoint.name as "endpointName", endpoint.enabled as "isEndpointEnabled",
           ${deliveryColumns(now)}
    from delivery
    join webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
    where delivery.id = ${id}::uuid and endpoint.organization_id = ${organizationId}`;
  return row ?? null;
}
