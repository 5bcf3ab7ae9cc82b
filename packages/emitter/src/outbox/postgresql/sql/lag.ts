import { quoted } from "../table.ts";

/**
 * What waits, since when the oldest of it does, and what was set aside. Counts end at $1, so that it stays cheap where millions wait.
 * Walks the indexes of what waits and of what was refused from their left ends; locks nothing.
 */
export function outboxLag(table: string): string {
  const name = quoted(table);
  const waiting = `from ${name} where sent_at is null and refused is null`;
  return `select
  (select count(*) from (select 1 ${waiting} limit $1) as counted)::int as waiting,
  (select extract(epoch from statement_timestamp() - added_at)::float8 ${waiting} order by number limit 1) as "oldestSeconds",
  (select count(*) from (select 1 from ${name} where refused is not null limit $1) as counted)::int as refused`;
}
