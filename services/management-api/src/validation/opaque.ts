// Texts that mean nothing to clients, who send them back unchanged.

const VERSION_BYTES = 8;
/** The Base64 of 8 bytes: two bits of its 11th character are always 0. The OpenAPI document has this regular expression too. */
export const VERSION_PATTERN = "^[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=$";

const versionPattern = new RegExp(VERSION_PATTERN);

/** The API's version of a row's revision: Base64 of 8 big-endian bytes (SPEC 9.1). */
export function versionOf(revision: bigint): string {
  const bytes = Buffer.alloc(VERSION_BYTES);
  bytes.writeBigInt64BE(revision);
  return bytes.toString("base64");
}

/** The revision that a version stands for; null if {@link versionOf} can't have made the text. */
export function parseVersion(version: string): bigint | null {
  if (!versionPattern.test(version)) return null;
  return Buffer.from(version, "base64").readBigInt64BE();
}

const UUID_BYTES = 16;

/** The cursor of what is older than the thing with this id. */
export function cursorOf(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

/** The id of a cursor; null if {@link cursorOf} can't have made the text. */
export function parseCursor(cursor: string): string | null {
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.length !== UUID_BYTES || bytes.toString("base64url") !== cursor) return null;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** What is older than a cursor; null, for all of it, without one. The schema has checked the text. */
export const olderThanOf = ({ cursor }: { cursor?: string | undefined }) =>
  cursor === undefined ? null : parseCursor(cursor);
