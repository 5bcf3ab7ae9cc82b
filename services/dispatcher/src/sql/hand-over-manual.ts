import type { Queries } from "@herald/common/database/queries";

/**
 * Makes a manual delivery due now that is not attempted for its request: the ordinary way need not wait until the time that was left to the
 * request is over. Does nothing where it has been claimed since.
 *
 * Locks that row of `due`. Walks due_pkey.
 */
export async function handOverManual(
  queries: Queries,
  { deliveryId, now }: { deliveryId: string; now: Date },
): Promise<void> {
  await queries.$executeRaw`
    update due set due_at = ${now}::timestamptz
    where delivery_id = ${deliveryId}::uuid and claim_id is null and attempts = 0 and due_at > ${now}::timestamptz`;
}
