import { timingSafeEqual } from "node:crypto";
import { readPayload } from "./read-event.ts";
import { digest, parseTimestamp } from "./sign.ts";

export type Secrets = string | readonly string[];

export interface VerifyInput {
  /** The endpoint's signing secret as it was shown, or several: a signature by any of them is accepted. */
  secret: Secrets;
  headers: HeadersInput;
  /** The request body's bytes exactly as they arrived: not parsed, not decoded, not reserialized. */
  body: Uint8Array;
  /** The time to judge the timestamp by; the system's if absent. */
  now?: Date;
  /** How far the timestamp may be from `now`, either way, inclusive. */
  toleranceSeconds?: number;
  /** First part of the names of the sender's headers, if the sender is set up with another one than the default. */
  headerPrefix?: string;
}

/** A verified request. What the signature covers can be trusted; the two header values below it cannot. */
export interface Verified {
  ok: true;
  /** Unix time in seconds at which this attempt was signed. */
  timestamp: number;
  /** The event's type as the verified body names it; null if the body is not an event's (a manual payload). */
  event: string | null;
  /** The business event's id from the verified body, lowercase; null if the body has none. Deduplicate by it. */
  eventId: string | null;
  /** The verified body, parsed; undefined if it is not JSON. Its shape is not checked. */
  payload: unknown;
  /** The event header. Not signed: a hint for logs and for manual payloads, never for authorization. */
  claimedEvent: string | null;
  /** The delivery-id header, the same on every attempt. Not signed. */
  deliveryId: string | null;
}

export type RejectionReason =
  | "duplicate_header"
  | "missing_signature"
  | "malformed_signature"
  | "missing_timestamp"
  | "malformed_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "signature_mismatch";

export interface Rejected {
  ok: false;
  /** Stable, for programs. */
  reason: RejectionReason;
  /** For the person who reads the log; holds no secret and nothing of the body. */
  message: string;
}

export type Verdict = Verified | Rejected;

/**
 * Decides whether a request came from the sender and arrived unchanged and in time (SPEC 4.4.3). It reads no clock
 * other than `now`, keeps nothing, and does not notice replays: the event's id shows them.
 *
 * @throws TypeError if the caller's own arguments are wrong (a parsed body, an empty secret), never for what a
 * request holds
 */
export function verify(input: VerifyInput): Verdict {
  const { headers, body, now = new Date(), toleranceSeconds = 300, headerPrefix = "X-Service" } = input;
  const { secret } = input;
  if (!areSecrets(secret)) throw new TypeError("verify: give at least one signing secret, none of them empty");
  checkArguments(body, now, toleranceSeconds);

  const signed = readSignature(headers, headerPrefix);
  if ("ok" in signed) return signed;

  const ageSeconds = Math.floor(now.getTime() / 1000) - signed.timestamp;
  if (Math.abs(ageSeconds) > toleranceSeconds) {
    const off = `the request was signed ${Math.abs(ageSeconds)} s ${ageSeconds > 0 ? "ago" : "in the future"}`;
    return rejected(
      ageSeconds > 0 ? "timestamp_too_old" : "timestamp_too_new",
      `${off}, and ${toleranceSeconds} s are tolerated: check this machine's clock`,
    );
  }
  if (!signedByAny([secret].flat(), signed, body)) {
    return rejected(
      "signature_mismatch",
      "the signature fits no known secret: compare the secret, and see that the body's raw bytes are what is verified",
    );
  }
  const { timestamp, claimedEvent, deliveryId } = signed;
  return { ok: true, timestamp, ...readPayload(body), claimedEvent, deliveryId };
}

interface Signed {
  signatureHex: string;
  timestamp: number;
  claimedEvent: string | null;
  deliveryId: string | null;
}

/** The four headers, if they are unambiguous and well-formed. */
function readSignature(headers: HeadersInput, prefix: string): Signed | Rejected {
  const names = [`${prefix}-Signature`, `${prefix}-Timestamp`, `${prefix}-Event`, `${prefix}-Delivery-Id`] as const;
  const values: (string | null)[] = [];
  for (const name of names) {
    const header = readHeader(headers, name);
    if (header.state === "repeated") return rejected("duplicate_header", `the header ${name} is there more than once`);
    values.push(header.state === "once" ? header.value : null);
  }
  const [signature = null, timestampText = null, claimedEvent = null, deliveryId = null] = values;

  if (signature === null) return rejected("missing_signature", `the header ${names[0]} is missing`);
  if (!/^sha256=[0-9a-f]{64}$/.test(signature)) {
    return rejected("malformed_signature", `${names[0]} is not "sha256=" and 64 lowercase hex digits`);
  }
  if (timestampText === null) return rejected("missing_timestamp", `the header ${names[1]} is missing`);
  const timestamp = parseTimestamp(timestampText);
  if (timestamp === null) {
    return rejected("malformed_timestamp", `${names[1]} is not a Unix time in whole seconds`);
  }
  return { signatureHex: signature.slice("sha256=".length), timestamp, claimedEvent, deliveryId };
}

/** Every secret is tried, whichever fits, so that the time taken does not tell which one did. */
function signedByAny(secrets: readonly string[], signed: Signed, body: Uint8Array): boolean {
  const supplied = Buffer.from(signed.signatureHex, "hex");
  return secrets.map((secret) => timingSafeEqual(digest(secret, signed.timestamp, body), supplied)).includes(true);
}

function rejected(reason: RejectionReason, message: string): Rejected {
  return { ok: false, reason, message };
}

/** Whether there is a secret, and none is empty: with an empty key anyone could sign. */
export function areSecrets(given: Secrets | undefined): given is Secrets {
  const secrets: unknown[] = [given ?? []].flat();
  return secrets.length > 0 && secrets.every((secret) => typeof secret === "string" && secret !== "");
}

function checkArguments(body: Uint8Array, now: Date, toleranceSeconds: number): void {
  if (!(body instanceof Uint8Array)) {
    throw new TypeError(
      "verify: body must be the raw bytes of the request (Buffer or Uint8Array), taken before parsing",
    );
  }
  if (Number.isNaN(now.getTime())) throw new TypeError("verify: now must be a valid Date");
  if (!(toleranceSeconds >= 0)) throw new TypeError("verify: toleranceSeconds must be a number of at least 0");
}

/** Headers as a server got them: `Headers`, any pairs, or an object such as `request.headersDistinct` of Node. */
export type HeadersInput =
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** One header, its name compared without case: absent, present once, or there more than once. */
type HeaderReading = { state: "absent" } | { state: "once"; value: string } | { state: "repeated" };

/**
 * A header is repeated if it occurs under two spellings or as a list, and also if its value holds a comma:
 * that is how HTTP stacks join repeated headers, and no value that the sender makes has one (SPEC 4.4.4).
 */
function readHeader(headers: HeadersInput, name: string): HeaderReading {
  const wanted = name.toLowerCase();
  const values: string[] = [];
  for (const [key, value] of isIterable(headers) ? headers : Object.entries(headers)) {
    if (value !== undefined && key.toLowerCase() === wanted)
      values.push(...(typeof value === "string" ? [value] : value));
  }
  const [value] = values;
  if (value === undefined) return { state: "absent" };
  return values.length > 1 || value.includes(",") ? { state: "repeated" } : { state: "once", value };
}

function isIterable(headers: HeadersInput): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers;
}
