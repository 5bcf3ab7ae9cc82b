import { LARGEST_EVENT_BYTES, type OutgoingRequest } from "../exchange.ts";
import type { Deviation, RequestMaker } from "./request-maker.ts";

/**
 * A receiver's right answer to a request.
 *
 * - `accept`: answer 2xx
 * - `refuse`: answer 4xx
 * - `refuse_or_close`: the same, or close the connection before all of the body has come
 * - `answer`: answer 2xx or 4xx, as it likes, and not with an error of its own
 * - `nothing`: it gets bytes that are no whole request, and the check waits for no answer
 */
export type Expectation = "accept" | "refuse" | "refuse_or_close" | "answer" | "nothing";

/** Bytes that are written to a connection unchanged; then the connection ends. */
export interface RawBytes {
  raw: (url: URL) => string;
}

export interface Step {
  send: OutgoingRequest | RawBytes;
  expect: Expectation;
  /** A question to the person who can look into the receiver's store, if the answer can't show the fault. */
  ask?: string;
}

export interface Check {
  /** Stable, for programs. */
  id: string;
  /** The behaviour of a right receiver, such as "refuses a request without a signature". */
  title: string;
  advice: string;
  /** Requests that are sent one after the other, or all at once. */
  steps: (make: RequestMaker) => Step[];
  atOnce?: true;
}

export const checksOf = (rows: readonly (readonly [id: string, title: string, advice: string, Check["steps"]])[]) =>
  rows.map(([id, title, advice, steps]): Check => ({ id, title, advice, steps }));

/** Far beyond what Herald sends, and beyond any limit that a receiver of events has a use for. */
export const OVERSIZED_BYTES = 32 * LARGEST_EVENT_BYTES;

export const accepts = (make: (make: RequestMaker) => OutgoingRequest) => one("accept", make);
export const refuses = (make: (make: RequestMaker) => OutgoingRequest) => one("refuse", make);
export const refusesSigned = (deviation: (make: RequestMaker) => Deviation) =>
  refuses((make) => make.signed(deviation(make)));

export function one(expect: Expectation, make: (make: RequestMaker) => OutgoingRequest): Check["steps"] {
  return (maker) => [{ send: make(maker), expect }];
}

/** An answer is not enough: the receiver also has to accept the next good request. */
export function survives(step: (make: RequestMaker) => Step): Check["steps"] {
  return (make) => [step(make), { send: make.signed(), expect: "accept" }];
}

export function eventOf(make: RequestMaker, bytes: number): Uint8Array {
  const withNote = (note: string) => make.event({ data: { changes: {}, note } });
  return withNote("a".repeat(bytes - withNote("").byteLength));
}

export const advice = {
  bytes: "Verify the body's bytes as they came, before anything parses them.",
  key: "The key of X-Service-Signature is the secret's text, not decoded; the key of webhook-signature is what the text decodes to from Base64, as libraries of Standard Webhooks do it.",
  emptySecret: "Don't start without a secret: an empty one lets any sender sign.",
  clock: "Take a timestamp that is at most 300 s away from your clock, in either direction, and refuse any other.",
  signature:
    'Compute HMAC-SHA256 over timestamp, dot and body with the secret\'s text, and compare all of "sha256=" and 64 lowercase hex digits, in constant time. A library of Standard Webhooks does its own: refuse what it refuses.',
  timestamp:
    "Take a timestamp only if it is the usual text of a whole number: no sign, no leading zero, no fraction, at most 16 digits.",
  once: "Refuse a request that has one of Herald's headers twice. Many frameworks join such headers with a comma: no value of Herald's has one.",
  refusal: "Answer 401, and don't let a header that is missing or odd become an error of the program.",
  size: "Stop reading at a limit of your own, 256 KiB or a little more, and answer 413.",
  type: "Answer 2xx to a verified event that you have no use for: an admin may subscribe your webhook to more. After a failure, Herald sends it again, and disables the webhook in the end.",
  duplicate: "Answer 2xx to an event that you have already, without repeating what it did.",
  survive: "Answer 2xx or 4xx to a verified body that you can't use. After 5xx, Herald sends it again, four times.",
  method: "Take POST only.",
};

export type Outcome = { status: number } | { failure: string; message: string };

/** The fault in words; null if the outcome is the expected one. */
export function faultOf(expect: Expectation, outcome: Outcome): string | null {
  if (expect === "nothing") return null;
  if (!("status" in outcome)) {
    if (expect === "refuse_or_close" && outcome.failure === "broken") return null;
    return outcome.message;
  }
  const { status } = outcome;
  if (status >= 500) return `answered ${status}: an error of the program`;
  if (status >= 300 && status < 400) return `answered ${status}: Herald follows no redirects`;
  const accepted = status < 300;
  if (expect === "accept" && !accepted) return `answered ${status}, and 2xx is right`;
  if ((expect === "refuse" || expect === "refuse_or_close") && accepted) return `answered ${status}: it was accepted`;
  return null;
}
