import type { Queries } from "@herald/common/database/queries";

// The functions are in the migration, which says what they lock.

/**
 * The days in UTC that have partitions, as "2026-11-21", earliest first.
 *
 * Locks nothing. Walks pg_inherits by parent.
 */
export async function readPartitions(queries: Queries): Promise<string[]> {
  const rows = await queries.$queryRaw<{ day: string }[]>`
    select to_char(to_date(right(relname, 8), 'YYYYMMDD'), 'YYYY-MM-DD') as day
    from pg_inherits
    join pg_class on pg_class.oid = inhrelid
    where inhparent = 'delivery'::regclass and relname ~ '_[0-9]{8}$'
    order by 1`;
  return rows.map(({ day }) => day);
}

/**
 * Makes the partitions of a day, and moves into them what the `*_rest` partitions hold of it.
 *
 * @throws 55P03 where somebody holds a lock on the tables: then nothing has changed
 */
export async function makePartitions(queries: Queries, day: string): Promise<void> {
  await queries.$queryRaw`select make_partitions(${day}::text::date)`;
}

/**
 * Drops the partitions of a day, after its unfinished deliveries have moved to the `*_rest` partitions. Returns false, and does
 * nothing, where there are more than `maxUnfinished` of them.
 *
 * @throws 55P03 where somebody holds a lock on the tables: then nothing has changed
 */
export async function dropPartitions(
  queries: Queries,
  { day, maxUnfinished }: { day: string; maxUnfinished: number },
): Promise<boolean> {
  const [row] = await queries.$queryRaw<{ dropped: boolean }[]>`
    select drop_partitions(${day}::text::date, ${maxUnfinished}::int) as "dropped"`;
  return row?.dropped ?? false;
}
