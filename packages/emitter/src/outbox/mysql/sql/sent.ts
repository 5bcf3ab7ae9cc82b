import { quoted } from "../table.ts";
import { listOf } from "./list-of.ts";

// MySQL has no LIMIT in a subquery, and DELETE returns no rows: so a transaction first locks one step of rows, and then changes them. Both walk the
// index of what was sent from its left end. At READ COMMITTED that locks no gap, in which a service's INSERT would have to wait.

/**
 * One step of what was sent too long ago. Rows that another relay erases, or that a replay takes, are passed over.
 *
 * 1: for how many seconds they are kept. 2: how many at the most.
 */
export function sentBefore(table: string): string {
  return `select cast(number as char) as number from ${quoted(table)}
where sent_at < utc_timestamp(6) - interval ? second
order by sent_at, ${quoted(table)}.number
limit ?
for update skip locked`;
}

/**
 * One step of what was sent within a time, the earliest first. For a row that is just being erased it waits, and then passes over it.
 *
 * 1: from when on. 2: until when, exclusively, so that what is sent meanwhile is not taken again. 3: how many at the most.
 */
export function sentWithin(table: string): string {
  return `select cast(number as char) as number from ${quoted(table)}
where sent_at >= ? and sent_at < ?
order by sent_at, ${quoted(table)}.number
limit ?
for update`;
}

export function erase(table: string, numbers: readonly string[]): string {
  return `delete from ${quoted(table)} where number in (${listOf(numbers)})`;
}

/** Makes rows wait again. */
export function replay(table: string, numbers: readonly string[]): string {
  return `update ${quoted(table)} set sent_at = null where number in (${listOf(numbers)})`;
}
