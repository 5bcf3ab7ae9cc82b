import type { Queries } from "@herald/common/database/queries";

/**
 * Undoes a claim whose attempt could not begin, through no fault of the receiver's: it does not count, and the delivery is
 * due again at `dueAt`. Does nothing where the lease ran out and another process claimed it since.
 *
 * Locks the delivery. Walks delivery_pkey; for the comparison as text see `claimHinted`.
 */
export async function unclaim(
  queries: Queries,
  { deliveryId, attempt, dueAt }: { deliveryId: string; attempt: number; dueAt: Date },
): Promise<void> {
  await queries.$executeRaw`
    update delivery
    set attempt_count = attempt_count - 1, in_flight = false, next_attempt_at = ${dueAt}::timestamptz
    where id = ${deliveryId}::uuid and state::text = 'pending' and in_flight and attempt_count = ${attempt}`;
}
