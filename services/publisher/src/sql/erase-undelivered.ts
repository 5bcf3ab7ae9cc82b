import type { Queries } from "@herald/common/database/queries";

/**
 * Erases what is known of events that were not taken and came before a time: the oldest first, at most `pageSize`. Returns how many.
 *
 * Locks what it erases. Walks undelivered_event_came_at_idx from its left end.
 */
export async function eraseUndelivered(
  queries: Queries,
  { cameBefore, pageSize }: { cameBefore: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    delete from undelivered_event
    where ctid = any (array (
      select ctid from undelivered_event
      where came_at < ${cameBefore}::timestamptz
      order by came_at
      limit ${pageSize}
    ))`;
}
