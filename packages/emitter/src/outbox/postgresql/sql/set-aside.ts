import { quoted } from "../table.ts";

/**
 * Sets aside rows that can't be sent, each with its reason. They stay until the service has repaired or deleted them.
 *
 * $1: their numbers. $2: their reasons, in the same order.
 */
export function setAside(table: string): string {
  return `update ${quoted(table)} set refused = found.reason
from unnest($1::bigint[], $2::text[]) as found (row_number, reason)
where number = found.row_number`;
}
