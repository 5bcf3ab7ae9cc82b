import { quoted } from "../table.ts";

/**
 * What waits, since when the oldest of it does, in microseconds, and what was set aside. Counts end at the parameters, so that it stays cheap where
 * millions wait. Walks the index of states; locks nothing.
 *
 * 1 and 2: where counts end.
 */
export function outboxLag(table: string): string {
  const name = quoted(table);
  return `select
  (select count(*) from (select 1 from ${name} where state = 0 limit ?) as counted) as waiting,
  (select timestampdiff(microsecond, added_at, utc_timestamp(6)) from ${name} where state = 0 order by number limit 1) as oldest,
  (select count(*) from (select 1 from ${name} where state = 2 limit ?) as counted) as refused`;
}
