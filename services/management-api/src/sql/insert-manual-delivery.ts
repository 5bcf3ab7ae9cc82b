import type { Queries } from "@herald/common/database/queries";

export interface ManualDelivery {
  id: string;
  endpointId: string;
  organizationId: string;
  eventType: string;
  /** The payload, as it will be sent. */
  body: string;
  createdAt: Date;
  /** Until then it is left to the request that waits for it; later the look for what is due takes it. */
  dueAt: Date;
}

/**
 * Stores a manual delivery if its endpoint is enabled and subscribed to the event. Returns whether it did.
 *
 * Locks the endpoint for the statement, so that no edit and no deletion comes between check and insert. Walks
 * webhook_endpoint_pkey.
 */
export async function insertManualDelivery(queries: Queries, delivery: ManualDelivery): Promise<boolean> {
  const { id, endpointId, organizationId, eventType, body, createdAt, dueAt } = delivery;
  const count = await queries.$executeRaw`
    with stored as (
      insert into delivery (id, endpoint_id, organization_id, event_type, body, created_at)
      select ${id}::uuid, endpoint.id, endpoint.organization_id, ${eventType}, ${body}, ${createdAt}::timestamptz
      from webhook_endpoint as endpoint
      where endpoint.id = ${endpointId}::uuid
        and endpoint.organization_id = ${organizationId}
        and endpoint.enabled
        and ${eventType} = any (endpoint.events)
      for share
      returning id, endpoint_id
    )
    insert into due (delivery_id, endpoint_id, due_at)
    select id, endpoint_id, ${dueAt}::timestamptz from stored`;
  return count > 0;
}
