import { quoted } from "../table.ts";

/**
 * Sets aside a row that can't be sent, with its reason. It stays until the service has repaired or deleted it.
 *
 * 1: the reason. 2: the row's number.
 */
export function setAside(table: string): string {
  return `update ${quoted(table)} set refused = ? where number = cast(? as signed)`;
}
