import type { PrismaClient } from "@herald/common/database/generated/client";

/** Whether an endpoint has more deliveries than that. Locks nothing. Walks delivery_endpoint_id_id_idx that far. */
export async function hasLongHistory(
  prisma: PrismaClient,
  { id, organizationId, moreThan }: { id: string; organizationId: string; moreThan: number },
): Promise<boolean> {
  const rows = await prisma.$queryRaw<unknown[]>`
    select 1
    from delivery
    where endpoint_id = (select id from webhook_endpoint where id = ${id}::uuid and organization_id = ${organizationId})
    order by id
    offset ${moreThan}
    limit 1`;
  return rows.length > 0;
}

/**
 * Pauses an endpoint in that revision, so that nothing is added to what is being erased. Returns its new revision, or null
 * where the organization has no such endpoint in that revision. Locks the endpoint. Walks webhook_endpoint_pkey.
 */
export async function pauseForDeletion(
  prisma: PrismaClient,
  endpoint: { id: string; organizationId: string; revision: bigint; now: Date },
): Promise<bigint | null> {
  const { id, organizationId, revision, now } = endpoint;
  const [row] = await prisma.$queryRaw<{ revision: bigint }[]>`
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
 * Erases a step of an endpoint's deliveries with their attempts, oldest first. Returns how many.
 * Locks those deliveries. Walks delivery_endpoint_id_id_idx, and delivery_attempt_pkey for each.
 */
export async function eraseDeliveries(
  prisma: PrismaClient,
  { endpointId, limit }: { endpointId: string; limit: number },
): Promise<number> {
  return await prisma.$executeRaw`
    delete from delivery
    where id in (select id from delivery where endpoint_id = ${endpointId}::uuid order by id limit ${limit})`;
}

/**
 * Deletes an endpoint in that revision, and what is left of its history with it. Returns whether it was there.
 * Locks the endpoint and its deliveries. Walks webhook_endpoint_pkey, delivery_endpoint_id_id_idx, delivery_attempt_pkey.
 */
export async function deleteEndpoint(
  prisma: PrismaClient,
  { id, organizationId, revision }: { id: string; organizationId: string; revision: bigint },
): Promise<boolean> {
  const count = await prisma.$executeRaw`
    delete from webhook_endpoint
    where id = ${id}::uuid and organization_id = ${organizationId} and revision = ${revision}`;
  return count > 0;
}
