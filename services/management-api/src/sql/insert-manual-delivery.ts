import type { Queries } from "@herald/common/database/queries";

export interface ManualDelivery {
  id: string;
  endpointId: string;
  organizationId: string;
  eventType: string;
  /** The payload, as it will be sent. */
  body: string;
  createdAt: Date;
  /** When the retry pass may take it, should the hint be lost. */
  unhintedAt: Date;
}

/**
 * Stores a manual delivery where its endpoint is enabled and subscribed to the event. Returns whether it did.
 *
 * Locks the endpoint against deletion and edits that the decision hangs on, for the statement. Walks webhook_endpoint_pkey.
 */
export async function insertManualDelivery(queries: Queries, delivery: ManualDelivery): Promise<boolean> {
  const { id, endpointId, organizationId, eventType, body, createdAt, unhintedAt } = delivery;
  const count = await queries.$executeRaw`
    insert into delivery (id, endpoint_id, organization_id, event_type, body, next_attempt_at, created_at)
    select ${id}::uuid, endpoint.id, endpoint.organization_id, ${eventType}, ${body}, ${unhintedAt}::timestamptz,
           ${createdAt}::timestamptz
    from webhook_endpoint as endpoint
    where endpoint.id = ${endpointId}::uuid
      and endpoint.organization_id = ${organizationId}
      and endpoint.enabled
      and ${eventType} = any (endpoint.events)
    for share`;
  return count > 0;
}
