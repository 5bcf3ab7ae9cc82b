import { quoted } from "../table.ts";

/**
 * Writes down that the broker has confirmed rows. All of them get one time, so that they keep their order in the index of what was
 * sent. Locks these rows, which nobody else writes to while they wait.
 *
 * $1: their numbers.
 */
export function markSent(table: string): string {
  return `update ${quoted(table)} set sent_at = statement_timestamp() where number = any($1::bigint[])`;
}
