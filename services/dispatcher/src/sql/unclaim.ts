import type { Queries } from "@herald/common/database/queries";

/** A claim to undo, and when its delivery is due again. */
export interface Unclaim {
  deliveryId: string;
  claimId: string;
  dueAt: Date;
}

/**
 * Undoes claims whose attempts could not begin, or failed, for a reason of Herald's own. It counts neither as an attempt nor as
 * an interruption. Does nothing where the lease ran out and another process has claimed the delivery since.
 *
 * Locks these rows of `due`. Walks due_pkey.
 */
export async function unclaim(queries: Queries, undone: readonly Unclaim[]): Promise<void> {
  const column = <T>(read: (each: Unclaim) => T) => undone.map(read);
  await queries.$executeRaw`
    with undone as materialized (
      select * from unnest(
        ${column((each) => each.deliveryId)}::uuid[],
        ${column((each) => each.claimId)}::uuid[],
        ${column((each) => each.dueAt)}::timestamptz[]
      ) as undone (delivery_id, claim_id, due_at)
    )
    update due
    set due_at = undone.due_at, claim_id = null
    from undone
    where due.delivery_id = undone.delivery_id and due.claim_id = undone.claim_id`;
}
