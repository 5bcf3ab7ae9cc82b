import { MAX_RETRY_AFTER_MS } from "../endpoint/retry-schedule.ts";
import type { ClockShown } from "../sql/rows.ts";
import { hideHeaders } from "./hide-headers.ts";

/** RFC 9112: a head, with its status in a group. Each header is of one line. Bytes above 127 are allowed in the reason and in values. */
const HEAD =
  /HTTP\/1\.[01] ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[!#$%&'*+.^_`|~\dA-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/y;
const FRAMING = /^(?:content-length|transfer-encoding):/gim;
/** Framing of a body. A status without a body ends with its head all the same, and what follows would begin the next answer. */
const FRAMED = /^(?:content-length:[ \t]*0*[1-9]|transfer-encoding:)/im;
const WITHOUT_BODY = ["204", "304"];

/**
 * Whether the head of a response keeps to HTTP, so that the end of its body is beyond doubt. The status of another head still tells the receiver's
 * decision, but the connection may be out of step after it. Before the head there may be interim heads, and behind it a part of the body.
 */
export function isByTheBook(bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  HEAD.lastIndex = 0;
  for (;;) {
    const [head, status] = HEAD.exec(text) ?? [];
    if (head === undefined || (head.match(FRAMING)?.length ?? 0) > 1) return false;
    if (WITHOUT_BODY.includes(status ?? "")) return !FRAMED.test(head);
    if (status === "101" || !status?.startsWith("1")) return true;
  }
}

/** The codes with which Node's parser refuses a second length, whatever it says: in a line of its own, and behind a comma. */
export const SECOND_LENGTH: readonly string[] = ["HPE_UNEXPECTED_CONTENT_LENGTH", "HPE_INVALID_CONTENT_LENGTH"];
const LENGTHS = /^content-length:[ \t]*(\d{1,15}(?:[ \t]*,[ \t]*\d{1,15})*)[ \t]*\r$/gim;

/**
 * The answer in a response whose length is said more than once, each time the same, as some gateways write it: RFC 9112 6.3 lets a client take these
 * as one. Its connection has to be closed. Undefined if the response breaks HTTP in another way, or its head has not come as a whole.
 */
export function answerOfEqualLengths(bytes: Buffer) {
  const text = bytes.toString("latin1");
  HEAD.lastIndex = 0;
  let [head, status] = HEAD.exec(text) ?? [];
  while (status?.startsWith("1")) [head, status] = HEAD.exec(text) ?? [];
  if (head === undefined) return undefined;
  const lines = [...head.matchAll(LENGTHS)].map(([, lengths]) => lengths);
  const [length, ...others] = new Set(lines.join().split(",").map(Number));
  if (lines.length !== head.match(FRAMING)?.length || others.length > 0) return undefined;
  const rest = bytes.subarray(HEAD.lastIndex, HEAD.lastIndex + (length as number));
  const body = rest.length > 0 ? [rest] : [];
  return { statusCode: Number(status), encoded: /^content-encoding:/im.test(head), body };
}

export const EXCERPT_BYTES = 1024;

/** Control characters but tab and line breaks (PostgreSQL stores no NUL), and bidirectional ones, with which a page would show another text. */
const HARMFUL = /(?![\t\n\r])\p{Cc}|\p{Bidi_Control}/gu;

/**
 * The start of a response's body as text that can be stored and shown, with U+FFFD for anything broken or harmful. Receivers that are out for a fault
 * repeat what they got, so what is of own headers (a flat list of names and values) is hidden. Null if there was no body.
 */
export function responseExcerpt(chunks: readonly Uint8Array[], ownHeaders: readonly string[] = []): string | null {
  if (chunks.length === 0) return null;
  const whole = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
  const values = ownHeaders.filter((_, at) => at % 2 === 1);
  // More than is kept: what is hidden becomes shorter, and what is cut is judged whole.
  const start = values.length === 0 ? whole : hidden(whole.subarray(0, 4 * EXCERPT_BYTES), values);
  const bytes = start.subarray(0, EXCERPT_BYTES);
  // Streaming, so that a cut character is left out and not replaced.
  const text = new TextDecoder().decode(bytes, { stream: true }).replace(HARMFUL, "\uFFFD");
  return text === "" ? null : text;
}

function hidden(bytes: Uint8Array, values: readonly string[]): Uint8Array {
  return Buffer.from(hideHeaders(Buffer.from(bytes).toString("latin1"), values), "latin1");
}

/** The three forms of an HTTP date (RFC 9110 5.6.7). `Date.parse` alone accepts almost anything as a date. */
const DATE =
  /^([A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

/** How long a receiver asks to be left alone by its `Retry-After`, at most a quarter of an hour; null if it does not, or can't be understood. */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  const ms = /^\d+$/.test(header ?? "") ? Number(header) * 1_000 : untilDate(header, now);
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : null;
}

/** Milliseconds from now to an HTTP date; NaN if it is none. */
function untilDate(header = "", now: Date): number {
  return DATE.test(header) ? Date.parse(header.replace(/\d$/, "$& GMT")) - now.getTime() : Number.NaN;
}

/** Receivers refuse a signature that is 300 s off (SPEC 4.4.3); a request may be on its way for 15 s. */
export const UNTIMELY_MS = 285_000;

/** How `now` is by the `Date` of an answer; undefined if there is none. */
export function clockShownIn(date: string | undefined, now: Date): ClockShown | undefined {
  const behindMs = untilDate(date, now);
  if (Number.isNaN(behindMs)) return undefined;
  if (Math.abs(behindMs) <= UNTIMELY_MS) return "right";
  return behindMs > 0 ? "behind" : "ahead";
}
