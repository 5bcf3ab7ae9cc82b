import type { Queries } from "@herald/common/database/queries";
import type { Work } from "./work.ts";

/**
 * Takes the erasure that has been due longest, and moves its time past a lease. Null where none is due.
 *
 * Locks the row that it takes, skips those that others lock. Reads the whole table, which has few rows.
 */
export async function takeErasure(
  queries: Queries,
  { now, leasedUntil }: { now: Date; leasedUntil: Date },
): Promise<Work | null> {
  const [taken] = await queries.$queryRaw<Work[]>`
    update erasure
    set due_at = ${leasedUntil}::timestamptz
    where endpoint_id in (
      select endpoint_id from erasure
      where due_at <= ${now}::timestamptz
      order by due_at
      limit 1
      for update skip locked
    )
    returning endpoint_id as "endpointId", due_at as "leasedUntil"`;
  return taken ?? null;
}
