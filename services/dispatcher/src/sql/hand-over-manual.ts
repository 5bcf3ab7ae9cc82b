import type { Queries } from "@herald/common/database/queries";

/**
 * Makes manual deliveries due now that are not attempted for their requests: the ordinary way need not wait until the time that was left to the
 * request is over. Passes over those that have been claimed since.
 *
 * Locks these rows of `due`. Walks due_pkey.
 */
export async function handOverManual(
  queries: Queries,
  { deliveryIds, now }: { deliveryIds: readonly string[]; now: Date },
): Promise<void> {
  await queries.$executeRaw`
    update due set due_at = ${now}::timestamptz
    where delivery_id = any (${deliveryIds}::uuid[]) and claim_id is null and attempts = 0 and due_at > ${now}::timestamptz`;
}
