import { firstIdAt } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/**
 * Erases entries of trails that were made before a time: the oldest first, at most `pageSize`. Returns how many were erased.
 *
 * Locks what it erases. Walks endpoint_change_pkey, since ids begin with the time.
 */
export async function eraseChanges(
  queries: Queries,
  { changedBefore, pageSize }: { changedBefore: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    delete from endpoint_change
    where id = any (array (
      select id from endpoint_change
      where id < ${firstIdAt(changedBefore)}::uuid
      order by id
      limit ${pageSize}
    ))`;
}
