import { Prisma } from "@herald/common/database/generated/client";
import { PARTITIONS_OF_HISTORY } from "@herald/common/database/partitions";
import type { Queries } from "@herald/common/database/queries";

// The functions are in the migration, which says what they lock.

/** The days of a partition in UTC, as "2026-11-21". `end` is the day after the last one. */
export type Partition = { first: string; end: string };

/** The existing partitions, earliest first. Locks nothing. Walks what {@link PARTITIONS_OF_HISTORY} walks. */
export async function readPartitions(queries: Queries): Promise<Partition[]> {
  return await queries.$queryRaw<Partition[]>`
    select to_char(first_day, 'YYYY-MM-DD') as "first", to_char(end_day, 'YYYY-MM-DD') as "end"
    from ${Prisma.raw(PARTITIONS_OF_HISTORY)} as partition
    order by first_day`;
}

/** Makes a partition of each table of the history, if none of its days has one. @throws 55P03 if another session locks them: nothing has changed */
export async function makePartitions(queries: Queries, { first, end }: Partition): Promise<void> {
  await queries.$queryRaw`select make_partitions(${first}::text::date, ${end}::text::date)`;
}

/** Drops the partitions that begin with a day; false if there are none. @throws 55P03 if another session locks the tables: nothing has changed */
export async function dropPartitions(queries: Queries, { first }: { first: string }): Promise<boolean> {
  const [row] = await queries.$queryRaw<{ dropped: boolean }[]>`
    select drop_partitions(${first}::text::date) as "dropped"`;
  return row?.dropped ?? false;
}
