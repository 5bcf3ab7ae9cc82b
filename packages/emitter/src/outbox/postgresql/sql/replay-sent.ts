import { quoted } from "../table.ts";

/**
 * Makes one step of rows wait again that were sent within a time, the earliest first. Walks the index of what was sent. Locks
 * these rows; for one that is just being erased it waits, and then passes over it.
 *
 * $1: from when on. $2: until when, exclusively, so that what is sent meanwhile is not taken again. $3: how many at the most.
 */
export function replaySent(table: string): string {
  const name = quoted(table);
  return `update ${name} set sent_at = null where number in (
  select number from ${name}
  where sent_at >= $1::timestamptz and sent_at < $2::timestamptz
  order by sent_at, number
  limit $3
  for update
) returning number::text`;
}
