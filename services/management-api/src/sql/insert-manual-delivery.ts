import type { Queries } from "@herald/common/database/queries";
import { type Author, nameOf } from "@herald/common/database/trail";
import type { EndpointKey } from "./endpoint-details.ts";

/**
 * Stores a manual delivery, and its entry in the trail, if its endpoint is enabled and subscribed to the event. Returns whether it did.
 * @param times until `dueAt` it is left to the request that waits for it; then it is due as any other
 *
 * Locks the endpoint for the statement, so that no edit and no deletion comes between check and insert. Walks
 * webhook_endpoint_pkey.
 */
export async function insertManualDelivery(
  queries: Queries,
  { id: endpointId, organizationId }: EndpointKey,
  { id, eventType, body, author }: { id: string; eventType: string; body: string; author: Author },
  { createdAt, dueAt }: { createdAt: Date; dueAt: Date },
): Promise<boolean> {
  const count = await queries.$executeRaw`
    with subscribed as materialized (
      select id, organization_id, name, revision
      from webhook_endpoint as endpoint
      where endpoint.id = ${endpointId}::uuid
        and endpoint.organization_id = ${organizationId}
        and endpoint.enabled
        and ${eventType} = any (endpoint.events)
      for share
    ), stored as (
      insert into delivery (id, endpoint_id, organization_id, event_type, body, author, next_attempt_at, created_at)
      select ${id}::uuid, id, organization_id, ${eventType}, ${body}, ${nameOf(author)}, ${dueAt}::timestamptz, ${createdAt}::timestamptz
      from subscribed
      returning id, endpoint_id, next_attempt_at
    ), recorded as (
      insert into endpoint_change (
        id, organization_id, endpoint_id, endpoint_name, revision, changed_at, changed_by, subject, name, request, delivered
      )
      select ${id}::uuid, organization_id, id, name, revision, ${createdAt}::timestamptz, ${author.changedBy}::changed_by,
        ${author.subject}, ${author.name}, ${author.request}::bytea, ${eventType}
      from subscribed
    )
    insert into due (shard, endpoint_id, due_at, delivery_id)
    select shard_of(endpoint_id), endpoint_id, next_attempt_at, id from stored`;
  return count > 0;
}
