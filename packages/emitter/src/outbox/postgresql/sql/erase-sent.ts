import { quoted } from "../table.ts";

/**
 * Erases one step of what was sent too long ago. Walks the index of what was sent from its left end. Rows that another relay erases, or
 * that a replay takes, are passed over.
 *
 * $1: for how many seconds they are kept. $2: how many at the most.
 */
export function eraseSent(table: string): string {
  const name = quoted(table);
  return `delete from ${name} where number in (
  select number from ${name}
  where sent_at < statement_timestamp() - make_interval(secs => $1::float8)
  order by sent_at, number
  limit $2
  for update skip locked
) returning number::text`;
}
