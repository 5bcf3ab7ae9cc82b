import type { Queries } from "@herald/common/database/queries";

/**
 * Erases changes of endpoints that were made before a time, the oldest first, and at the most so many. Returns how many.
 *
 * Locks what it erases. Walks endpoint_change_changed_at_idx.
 */
export async function eraseChanges(
  queries: Queries,
  { changedBefore, pageSize }: { changedBefore: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    delete from endpoint_change
    where ctid = any (array (
      select ctid from endpoint_change
      where changed_at < ${changedBefore}::timestamptz
      order by changed_at
      limit ${pageSize}
    ))`;
}
