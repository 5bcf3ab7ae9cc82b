import { createHmac } from "node:crypto";

/**
 * The signature header's value for a body sent at `timestamp`: `sha256=` and 64 lowercase hex digits (SPEC 4.3).
 *
 * @param secret the signing secret's literal text; its UTF-8 bytes are the key, it is not Base64-decoded
 * @param timestamp Unix time in seconds, as the timestamp header says it
 * @param body the exact bytes of the request body
 */
export function sign(secret: string, timestamp: number, body: Uint8Array): string {
  return `sha256=${digest(secret, timestamp, body).toString("hex")}`;
}

/** HMAC-SHA256 over the timestamp in decimal, a dot and the body; 32 bytes. */
export function digest(secret: string, timestamp: number, body: Uint8Array): Buffer {
  return createHmac("sha256", Buffer.from(secret, "utf8")).update(`${timestamp}.`, "utf8").update(body).digest();
}

/**
 * The timestamp header as a number of seconds, or null if the text is not one: non-empty, decimal, at most 16
 * characters, and exactly what that number prints as, so that no two texts mean the same moment (SPEC 4.4.3).
 */
export function parseTimestamp(text: string): number | null {
  if (!/^[0-9]{1,16}$/.test(text)) return null;
  const seconds = Number(text);
  return Number.isSafeInteger(seconds) && String(seconds) === text ? seconds : null;
}
