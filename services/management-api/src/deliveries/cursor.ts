const UUID_BYTES = 16;
const TIME_BYTES = 6;
/** How many characters say the id; those of an export's cursor say a time behind it. */
const ID_CHARACTERS = 22;

/** Where an export stands. */
export interface ExportPlace {
  /** The delivery of its last row. */
  olderThan: string;
  /** It has the deliveries that were made before this time; null in a cursor that a history gave out. */
  madeBefore: Date | null;
}

/** The cursor of the deliveries, or of the events, that are older than this one: opaque to clients. */
export function cursorOf(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

/** The cursor of an export's row. It also says where a history goes on. */
export function exportCursorOf(id: string, madeBefore: Date): string {
  const time = Buffer.alloc(TIME_BYTES);
  time.writeUIntBE(madeBefore.getTime(), 0, TIME_BYTES);
  return cursorOf(id) + time.toString("base64url");
}

/** The id of a cursor; null where neither {@link cursorOf} nor {@link exportCursorOf} can have made the text. */
export function parseCursor(cursor: string): string | null {
  return parseExportCursor(cursor)?.olderThan ?? null;
}

export function parseExportCursor(cursor: string): ExportPlace | null {
  const id = decoded(cursor.slice(0, ID_CHARACTERS), UUID_BYTES);
  if (id === null) return null;
  const olderThan = id.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (cursor.length === ID_CHARACTERS) return { olderThan, madeBefore: null };
  const time = decoded(cursor.slice(ID_CHARACTERS), TIME_BYTES);
  return time && { olderThan, madeBefore: new Date(time.readUIntBE(0, TIME_BYTES)) };
}

/** The bytes of a text in base64url; null where it has others, or isn't written as this module writes it. */
function decoded(text: string, count: number): Buffer | null {
  const bytes = Buffer.from(text, "base64url");
  return bytes.length === count && bytes.toString("base64url") === text ? bytes : null;
}
