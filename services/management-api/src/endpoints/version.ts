const BYTES = 8;
const BASE64_OF_8_BYTES = /^[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=$/;

/** The API's version of a row's revision: Base64 of 8 big-endian bytes. Opaque to clients (SPEC 9.1). */
export function versionOf(revision: bigint): string {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeBigInt64BE(revision);
  return bytes.toString("base64");
}

/** The revision that a version stands for; null where {@link versionOf} can't have made the text. */
export function parseVersion(version: string): bigint | null {
  if (!BASE64_OF_8_BYTES.test(version)) return null;
  return Buffer.from(version, "base64").readBigInt64BE();
}
