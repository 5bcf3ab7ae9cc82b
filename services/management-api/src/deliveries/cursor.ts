const UUID_BYTES = 16;

/** The cursor of the deliveries, or of the events, that are older than this one: opaque to clients. */
export function cursorOf(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

/** The id of a cursor; null where {@link cursorOf} can't have made the text. */
export function parseCursor(cursor: string): string | null {
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.length !== UUID_BYTES || bytes.toString("base64url") !== cursor) return null;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
