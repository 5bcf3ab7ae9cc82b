import type { Queries } from "@herald/common/database/queries";

/**
 * Erases how attempts ended in hours that began before a time: the oldest first, at most `pageSize` endpoints' hours. Returns how many.
 *
 * Locks what it erases. Walks endpoint_hour_hour_idx from its left end.
 */
export async function eraseRates(
  queries: Queries,
  { begunBefore, pageSize }: { begunBefore: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    delete from endpoint_hour
    where ctid = any (array (
      select ctid from endpoint_hour
      where hour < ${begunBefore}::timestamptz
      order by hour
      limit ${pageSize}
    ))`;
}
