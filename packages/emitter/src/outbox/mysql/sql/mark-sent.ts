import { quoted } from "../table.ts";
import { listOf } from "./list-of.ts";

/**
 * Writes down that the broker has confirmed rows. All of them get one time, so that they keep their order in the index of what was
 * sent. Locks these rows, which nobody else writes to while they wait.
 */
export function markSent(table: string, numbers: readonly string[]): string {
  return `update ${quoted(table)} set sent_at = utc_timestamp(6) where number in (${listOf(numbers)})`;
}
