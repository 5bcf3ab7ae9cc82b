import { quoted } from "../table.ts";
import { listOf } from "./list-of.ts";

/**
 * The rows that wait, oldest first. Locks none of them: whoever reads them has the lock of the whole table. Walks the index of
 * states.
 *
 * 1: how many.
 *
 * @param except the numbers of rows to pass over
 */
export function waitingRows(table: string, except: readonly string[]): string {
  const others = except.length === 0 ? "" : `and number not in (${listOf(except)})`;
  return `select cast(number as char) as number, event, traceparent
from ${quoted(table)}
where state = 0 ${others}
order by ${quoted(table)}.number
limit ?`;
}
