import type { Queries } from "@herald/common/database/queries";

export interface EndpointDeletion {
  id: string;
  organizationId: string;
  /** The revision that the client has read. The row is deleted only if it is still in this revision. */
  revision: bigint;
  now: Date;
  /** When the publisher looks for the last time for what has to be erased. */
  eraseUntil: Date;
}

/**
 * Deletes an endpoint, ends its catch-up, and tells the publisher to erase its history. Its deliveries are out of reach from
 * then on, since every read begins with the endpoint. Returns whether the organization had it in that revision.
 *
 * Locks the endpoint and its row of `catch_up`. Walks webhook_endpoint_pkey and catch_up_pkey, and no delivery: it takes the
 * same time however long the history is.
 */
export async function deleteEndpointRow(queries: Queries, deletion: EndpointDeletion): Promise<boolean> {
  const { id, organizationId, revision, now, eraseUntil } = deletion;
  const count = await queries.$executeRaw`
    with deleted as (
      delete from webhook_endpoint
      where id = ${id}::uuid and organization_id = ${organizationId} and revision = ${revision}
      returning id
    ), ended as (
      delete from catch_up using deleted where endpoint_id = deleted.id
    )
    insert into erasure (endpoint_id, due_at, until)
    select id, ${now}::timestamptz, ${eraseUntil}::timestamptz from deleted`;
  return count > 0;
}
