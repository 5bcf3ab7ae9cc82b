import { firstIdAt } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/**
 * Erases resends that were started before a time: the oldest first, at most `pageSize`. Returns how many were erased. One that still
 * runs ends with that. Their deliveries are erased with the partitions of their days.
 *
 * Locks what it erases. Walks resend_pkey from its left end.
 */
export async function eraseResends(
  queries: Queries,
  { startedBefore, pageSize }: { startedBefore: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    delete from resend
    where id = any (array (
      select id from resend
      where id < ${firstIdAt(startedBefore)}::uuid
      order by id
      limit ${pageSize}
    ))`;
}
