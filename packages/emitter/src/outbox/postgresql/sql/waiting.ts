import { quoted } from "../table.ts";

/**
 * The rows that wait behind a number, oldest first. Locks none of them: whoever reads them has the lock of the whole table. Walks the index of
 * what waits from that number on.
 *
 * $1: how many. $2: the number.
 */
export function waitingRows(table: string): string {
  return `select outbox.number::text as number, event, traceparent
from ${quoted(table)} as outbox
where sent_at is null and refused is null and number > $2::bigint
order by outbox.number
limit $1`;
}
