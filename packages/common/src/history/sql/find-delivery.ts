import { Prisma } from "../../database/generated/client.ts";
import type { Reads } from "../../database/queries.ts";
import type { HistoryRow } from "../summary.ts";
import { deliveryColumns, due } from "./delivery-columns.ts";

export interface FoundDelivery extends Omit<HistoryRow, "businessEventId"> {
  organizationId: string;
  /** Null for a manual delivery. */
  eventKey: string | null;
  endpointId: string;
  endpointName: string;
}

/**
 * A delivery with its endpoint; null where no delivery of an endpoint that exists has this id.
 *
 * Locks nothing. Walks delivery_pkey in one partition, webhook_endpoint_pkey and due_pkey.
 *
 * @param organizationId null for a delivery of any organization, which is for operators only
 */
export async function findDelivery(
  queries: Reads,
  { id, organizationId, now }: { id: string; organizationId: string | null; now: Date },
): Promise<FoundDelivery | null> {
  const ofOrganization =
    organizationId === null ? Prisma.empty : Prisma.sql`and endpoint.organization_id = ${organizationId}`;
  const [row] = await queries.$queryRaw<FoundDelivery[]>`
    select endpoint.organization_id as "organizationId", delivery.event_key as "eventKey",
           endpoint.id as "endpointId", endpoint.name as "endpointName", endpoint.enabled as "isEndpointEnabled",
           ${deliveryColumns}
    from delivery
    join webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
    ${due(now)}
    where delivery.id = ${id}::uuid ${ofOrganization}`;
  return row ?? null;
}
