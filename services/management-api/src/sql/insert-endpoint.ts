import type { Prisma, PrismaClient } from "@herald/common/database/generated/client";

/**
 * Inserts an endpoint unless its organization has `maxEndpoints` already. Returns whether it did.
 *
 * Locks the organization against other creates until the end of the transaction (an advisory lock: there is no row to
 * lock), so that two creates at once can't both take the last place. The count is a statement of its own, because a
 * statement sees what was there when it began, which would be before it got the lock.
 */
export async function insertWebhook(
  prisma: PrismaClient,
  row: Prisma.WebhookEndpointUncheckedCreateInput,
  maxEndpoints: number,
): Promise<boolean> {
  return await prisma.$transaction(async (transaction) => {
    await transaction.$executeRaw`select pg_advisory_xact_lock(hashtextextended(${row.organizationId}, 0))`;
    const count = await transaction.webhookEndpoint.count({ where: { organizationId: row.organizationId } });
    if (count >= maxEndpoints) return false;
    await transaction.webhookEndpoint.create({ data: row, select: { id: true } });
    return true;
  });
}
