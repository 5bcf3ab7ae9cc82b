const BYTES = 8;
/** Of 8 bytes, the 11th character of Base64 has two bits that are always 0. A regular expression, for the OpenAPI document too. */
export const VERSION_PATTERN = "^[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=$";

const pattern = new RegExp(VERSION_PATTERN);

/** The API's version of a row's revision: Base64 of 8 big-endian bytes. Opaque to clients (SPEC 9.1). */
export function versionOf(revision: bigint): string {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeBigInt64BE(revision);
  return bytes.toString("base64");
}

/** The revision that a version stands for; null where {@link versionOf} can't have made the text. */
export function parseVersion(version: string): bigint | null {
  if (!pattern.test(version)) return null;
  return Buffer.from(version, "base64").readBigInt64BE();
}
