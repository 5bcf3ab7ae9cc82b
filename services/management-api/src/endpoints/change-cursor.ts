/** Where a part of a trail ended: the endpoint's revision, and of a resend its id. */
export interface ChangeCursor {
  revision: bigint;
  /** {@link NO_RESEND} of a change. Resends of one revision come after the change that made it. */
  resendId: string;
}

export const NO_RESEND = "00000000-0000-0000-0000-000000000000";

const REVISION_BYTES = 8;
/** 24 bytes. */
export const CHANGE_CURSOR_PATTERN = "^[A-Za-z0-9_-]{32}$";

const pattern = new RegExp(CHANGE_CURSOR_PATTERN);

/** The cursor of what is older in a trail: opaque to clients. */
export function changeCursorOf({ revision, resendId }: ChangeCursor): string {
  const bytes = Buffer.alloc(REVISION_BYTES);
  bytes.writeBigInt64BE(revision);
  return Buffer.concat([bytes, Buffer.from(resendId.replaceAll("-", ""), "hex")]).toString("base64url");
}

/** Null where {@link changeCursorOf} can't have made the text. */
export function parseChangeCursor(cursor: string): ChangeCursor | null {
  if (!pattern.test(cursor)) return null;
  const bytes = Buffer.from(cursor, "base64url");
  const hex = bytes.toString("hex", REVISION_BYTES);
  return {
    revision: bytes.readBigInt64BE(),
    resendId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
  };
}
