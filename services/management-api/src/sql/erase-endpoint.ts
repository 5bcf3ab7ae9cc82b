import type { Queries } from "@herald/common/database/queries";

/** Whether an endpoint has more than `moreThan` deliveries. Locks nothing. Walks that far in delivery_endpoint_id_id_idx. */
export async function hasLongHistory(
  queries: Queries,
  { id, organizationId, moreThan }: { id: string; organizationId: string; moreThan: number },
): Promise<boolean> {
  const rows = await queries.$queryRaw<unknown[]>`
    select 1
    from delivery
    where endpoint_id = (select id from webhook_endpoint where id = ${id}::uuid and organization_id = ${organizationId})
    order by id
    offset ${moreThan}
    limit 1`;
  return rows.length > 0;
}

/**
 * Pauses an endpoint in a revision, so that no delivery is added while its history is erased. Returns its new revision, or
 * null where the organization has no such endpoint in that revision. Locks the endpoint. Walks webhook_endpoint_pkey.
 */
export async function pauseForDeletion(
  queries: Queries,
  endpoint: { id: string; organizationId: string; revision: bigint; now: Date },
): Promise<bigint | null> {
  const { id, organizationId, revision, now } = endpoint;
  const [row] = await queries.$queryRaw<{ revision: bigint }[]>`
    update webhook_endpoint
    set enabled = false,
        disabled_reason = coalesce(disabled_reason, 'paused'),
        disabled_at = coalesce(disabled_at, ${now}::timestamptz),
        updated_at = ${now}::timestamptz,
        revision = revision + 1
    where id = ${id}::uuid and organization_id = ${organizationId} and revision = ${revision}
    returning revision`;
  return row?.revision ?? null;
}

/**
 * Erases up to `limit` deliveries of an endpoint with their attempts, oldest first. Returns how many deliveries it erased.
 * Locks those deliveries. Walks delivery_endpoint_id_id_idx, and delivery_attempt_pkey for each.
 */
export async function eraseDeliveries(
  queries: Queries,
  { endpointId, limit }: { endpointId: string; limit: number },
): Promise<number> {
  return await queries.$executeRaw`
    delete from delivery
    where id in (select id from delivery where endpoint_id = ${endpointId}::uuid order by id limit ${limit})`;
}

/**
 * Deletes an endpoint in a revision, and what is left of its history. Returns whether it was there in that revision.
 * Locks the endpoint and its deliveries. Walks webhook_endpoint_pkey, delivery_endpoint_id_id_idx, delivery_attempt_pkey.
 */
export async function eraseEndpoint(
  queries: Queries,
  { id, organizationId, revision }: { id: string; organizationId: string; revision: bigint },
): Promise<boolean> {
  const count = await queries.$executeRaw`
    delete from webhook_endpoint
    where id = ${id}::uuid and organization_id = ${organizationId} and revision = ${revision}`;
  return count > 0;
}
