import type { Queries } from "@herald/common/database/queries";

/**
 * Undoes a claim whose attempt could not begin for a reason of Herald's own. It counts neither as an attempt nor as an
 * interruption, and the delivery is due again at `dueAt`. Does nothing where the lease ran out and another process has
 * claimed the delivery since.
 *
 * Locks that row of `due`. Walks due_pkey.
 */
export async function unclaim(
  queries: Queries,
  { deliveryId, claimId, dueAt }: { deliveryId: string; claimId: string; dueAt: Date },
): Promise<void> {
  await queries.$executeRaw`
    update due
    set due_at = ${dueAt}::timestamptz, claim_id = null
    where delivery_id = ${deliveryId}::uuid and claim_id = ${claimId}::uuid`;
}
