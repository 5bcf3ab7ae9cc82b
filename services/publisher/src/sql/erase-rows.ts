import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/** What begins with the time of a row: an id, or the time itself. */
const TIMES = { endpoint_change: "id", resend: "id", undelivered_event: "came_at", endpoint_hour: "hour" } as const;

/**
 * Erases rows of a table that are of a time before: the oldest first, at most `pageSize`. Returns how many. A resend that still runs ends
 * with that; its deliveries are erased with the partitions of their days.
 *
 * Locks what it erases. Walks endpoint_change_pkey, resend_pkey, undelivered_event_came_at_idx or endpoint_hour_hour_idx from its left end.
 */
export async function eraseRows(
  queries: Queries,
  table: keyof typeof TIMES,
  { before, pageSize }: { before: Date; pageSize: number },
): Promise<number> {
  const [from, time] = [Prisma.raw(table), Prisma.raw(TIMES[table])];
  const isId = TIMES[table] === "id";
  const limit = isId ? Prisma.sql`${firstIdAt(before)}::uuid` : Prisma.sql`${before}::timestamptz`;
  const row = Prisma.raw(isId ? "id" : "ctid");
  return await queries.$executeRaw`
    delete from ${from}
    where ${row} = any (array (
      select ${row} from ${from}
      where ${time} < ${limit}
      order by ${time}
      limit ${pageSize}
    ))`;
}
