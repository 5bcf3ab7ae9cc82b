import { quoted } from "../table.ts";

/**
 * The rows that wait behind a number, oldest first. Locks none of them: whoever reads them has the lock of the whole table. Walks the index of
 * states.
 *
 * 1: how many.
 *
 * @param after the number. It stands in the statement, since MySQL compares text with a number by rounding both
 */
export function waitingRows(table: string, after: string): string {
  return `select cast(number as char) as number, event, traceparent
from ${quoted(table)}
where state = 0 and number > ${BigInt(after)}
order by ${quoted(table)}.number
limit ?`;
}
