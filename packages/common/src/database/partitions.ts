import { timeOfInSql } from "./ids.ts";

/**
 * The partitions of the history: a table expression with the `first_day` and `end_day` of each, dates in UTC of which the second is not in
 * it. PostgreSQL's own bounds, since partitions are longer or shorter where `RETENTION_DAYS` was changed. The history's days have a partition in
 * each table: one table stands for all.
 *
 * Locks nothing. Walks pg_inherits by parent.
 */
export const PARTITIONS_OF_HISTORY = `(
  select bounds.*
  from pg_inherits
  join pg_class as partition on partition.oid = inhrelid
  cross join lateral (
    select min(day) as first_day, max(day) as end_day
    from regexp_matches(pg_get_expr(relpartbound, partition.oid), '[0-9a-f-]{36}', 'g') as bound (id)
    cross join lateral (select (${timeOfInSql("id[1]")} at time zone 'UTC')::date as day) as begin
  ) as bounds
  where inhparent = 'delivery'::regclass
)`;

/** The most locks on tables and indexes for each partition that a statement holds which can't say the days of its rows. */
export const LOCKS_A_PARTITION = 11;

/** Counts the days after a time's own day that have a partition. For use with {@link PARTITIONS_OF_HISTORY}. */
export function daysAhead(time: string): string {
  const tomorrow = `((${time})::timestamptz at time zone 'UTC')::date + 1`;
  return `coalesce(sum(greatest(0, end_day - greatest(first_day, ${tomorrow}))), 0)::int`;
}
