import type { Queries } from "@herald/common/database/queries";

/**
 * Moves the time of deliveries that are leased to their hints. Where `held`, an attempt is under way, and the time is the end of its lease;
 * else the deliveries are due then, for any claim. Does nothing for those that have been claimed or settled since.
 *
 * Locks those rows of `due`. Walks due_pkey.
 */
export async function moveHinted(
  queries: Queries,
  deliveryIds: readonly string[],
  { dueAt, held }: { dueAt: Date; held: boolean },
): Promise<void> {
  await queries.$executeRaw`
    update due
    set due_at = ${dueAt}::timestamptz, claim_id = case when ${held}::boolean then claim_id end
    where delivery_id = any (${deliveryIds}::uuid[]) and claim_id = delivery_id`;
}
