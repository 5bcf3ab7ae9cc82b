import { randomUUID } from "node:crypto";
import type { OutgoingRequest } from "../send/signed-request.ts";
import { type Deviation, type RequestMaker, withNames, withoutLength } from "./request-maker.ts";

/**
 * What a receiver should do with a request.
 *
 * - `accept`: answer 2xx
 * - `refuse`: answer 4xx
 * - `refuse_or_close`: the same, or close the connection before all of the body has come
 * - `answer`: answer 2xx or 4xx, as it likes, and not with an error of its own
 * - `nothing`: it gets bytes that are no whole request, and no answer is waited for
 */
export type Expectation = "accept" | "refuse" | "refuse_or_close" | "answer" | "nothing";

/** What is written to a connection as it stands, which then ends. */
export interface RawBytes {
  raw: (url: URL) => string;
}

export interface Step {
  send: OutgoingRequest | RawBytes;
  expect: Expectation;
}

/** One thing that is tried with a receiver: a row of the table of good and bad requests. */
export interface Check {
  /** Stable, for programs. */
  id: string;
  /** What a right receiver does, such as "refuses a request without a signature". */
  title: string;
  /** What to do where it does not. */
  advice: string;
  /** Requests that are sent one after the other, or all at once. */
  steps: (make: RequestMaker) => Step[];
  atOnce?: true;
}

/** Herald's own bound for an event. */
export const LARGEST_EVENT_BYTES = 256 * 1024;
/** Far beyond it, and beyond any limit that a receiver of events has a use for. */
export const OVERSIZED_BYTES = 32 * LARGEST_EVENT_BYTES;

const STALE_SECONDS = 360;
/** A minute within the 300 s, so that a slow machine and a slow request change no verdict. */
const IN_TIME_SECONDS = 240;

const accepts = (make: (make: RequestMaker) => OutgoingRequest) => one("accept", make);
const refuses = (make: (make: RequestMaker) => OutgoingRequest) => one("refuse", make);
const refusesSigned = (deviation: (make: RequestMaker) => Deviation) => refuses((make) => make.signed(deviation(make)));

function one(expect: Expectation, make: (make: RequestMaker) => OutgoingRequest): Check["steps"] {
  return (maker) => [{ send: make(maker), expect }];
}

/** It is not enough that there is an answer: the next good request has to be accepted. */
function survives(step: (make: RequestMaker) => Step): Check["steps"] {
  return (make) => [step(make), { send: make.signed(), expect: "accept" }];
}

/** An event of so many bytes. */
function eventOf(make: RequestMaker, bytes: number): Uint8Array {
  const withNote = (note: string) => make.event({ data: { changes: {}, note } });
  return withNote("a".repeat(bytes - withNote("").byteLength));
}

const advice = {
  bytes:
    "Verify the body's bytes as they came, before anything parses them. The key is the secret's text, not decoded.",
  clock: "Take a timestamp that is at most 300 s away from your clock, in either direction, and refuse any other.",
  signature:
    'Compute HMAC-SHA256 over timestamp, dot and body with the secret\'s text, and compare all of "sha256=" and 64 lowercase hex digits, in constant time.',
  timestamp:
    "Take a timestamp only if it is the usual text of a whole number: no sign, no leading zero, no fraction, at most 16 digits.",
  once: "Refuse a request that has one of Herald's headers twice. Many frameworks join such headers with a comma: no value of Herald's has one.",
  refusal: "Answer 401, and don't let a header that is missing or odd become an error of the program.",
  size: "Stop reading at a limit of your own, 256 KiB or a little more, and answer 413.",
  duplicate: "Answer 2xx to an event that you have already, without repeating what it did.",
  survive: "Answer 2xx or 4xx to a verified body that you can't use. After 5xx, Herald sends it again, four times.",
  method: "Take POST only.",
};

const refusedTimestamps: [id: string, title: string, timestamp: (now: number) => string][] = [
  ["timestamp_empty", "an empty timestamp", () => ""],
  ["timestamp_leading_zero", "a timestamp with a leading zero", (now) => `0${now}`],
  ["timestamp_plus", "a timestamp with a plus", (now) => `+${now}`],
  ["timestamp_negative", "a negative timestamp", () => "-1"],
  ["timestamp_fraction", "a timestamp with a fraction", (now) => `${now}.0`],
  ["timestamp_exponent", "a timestamp with an exponent", (now) => `${now}e0`],
  ["timestamp_hexadecimal", "a hexadecimal timestamp", (now) => `0x${now.toString(16)}`],
  ["timestamp_milliseconds", "a timestamp in milliseconds", (now) => `${now}000`],
  ["timestamp_unsafe", "a timestamp beyond 2^53", () => "9007199254740993"],
  ["timestamp_too_long", "a timestamp of 17 digits", () => "10000000000000000"],
  ["timestamp_date", "a date in place of the timestamp", (now) => new Date(now * 1000).toISOString()],
];

const refusedSignatures: [id: string, title: string, signature: (right: string) => string][] = [
  ["signature_empty", "an empty signature", () => ""],
  ["signature_zeros", "a forged signature", () => `sha256=${"0".repeat(64)}`],
  ["signature_without_scheme", "a signature without its scheme", (right) => right.slice("sha256=".length)],
  ["signature_other_scheme", "a signature of another scheme", (right) => right.replace("sha256", "sha512")],
  ["signature_scheme_capitals", "a signature whose scheme is in capitals", (right) => right.replace("sha", "SHA")],
  ["signature_capitals", "a signature in capital hex digits", (right) => `sha256=${right.slice(7).toUpperCase()}`],
  ["signature_short", "a signature that is a digit short", (right) => right.slice(0, -1)],
  ["signature_long", "a signature that has a digit too many", (right) => `${right}0`],
  [
    "signature_base64",
    "a signature in Base64",
    (right) => `sha256=${Buffer.from(right.slice(7), "hex").toString("base64")}`,
  ],
];

/** What a receiver must do right, the most usual first. Verifiers of every language are tested by this table. */
export const CHECKS: readonly Check[] = [
  {
    id: "good",
    title: "accepts a signed event",
    advice: `Compare the URL and the secret with your receiver's. ${advice.bytes}`,
    steps: accepts((make) => make.signed()),
  },
  {
    id: "good_old",
    title: "accepts a request that was signed four minutes ago",
    advice: advice.clock,
    steps: accepts((make) => make.signed({ timestamp: String(make.now - IN_TIME_SECONDS) })),
  },
  {
    id: "good_ahead",
    title: "accepts a request that was signed four minutes ahead",
    advice: advice.clock,
    steps: accepts((make) => make.signed({ timestamp: String(make.now + IN_TIME_SECONDS) })),
  },
  {
    id: "good_text",
    title: "accepts text beyond ASCII",
    advice: advice.bytes,
    steps: accepts((make) => make.signed({ body: make.event({ data: { changes: {}, note: "Größe 漢字 🚀" } }) })),
  },
  {
    id: "good_spacing",
    title: "accepts JSON that a parser would write in another way",
    advice: advice.bytes,
    steps: accepts((make) => {
      const text = Buffer.from(make.event()).toString();
      return make.signed({
        body: Buffer.from(` ${text.slice(0, -1)} ,\r\n "note" : "\\u00e9\\/" , "amount": 1.0 }\n`),
      });
    }),
  },
  {
    id: "good_more_fields",
    title: "accepts fields that it does not know",
    advice: "Check the fields that you need, and ignore others: Herald may add some.",
    steps: accepts((make) =>
      make.signed({ body: make.event({ schemaVersion: 2, data: { changes: {}, more: [1, { deep: true }] } }) }),
    ),
  },
  {
    id: "good_header_case",
    title: "accepts header names in any case",
    advice: "Compare header names without case: proxies and HTTP/2 write them in lower case.",
    steps: (make) => [
      { send: withNames(make.signed(), (name) => name.toLowerCase()), expect: "accept" },
      { send: withNames(make.signed(), (name) => name.toUpperCase()), expect: "accept" },
    ],
  },
  {
    id: "good_large",
    title: "accepts an event of 256 KiB",
    advice: "Let the limit of the body be 256 KiB at least: a manual payload may be as large.",
    steps: accepts((make) => make.signed({ body: eventOf(make, LARGEST_EVENT_BYTES) })),
  },
  {
    id: "duplicate",
    title: "answers a duplicate with success",
    advice: advice.duplicate,
    steps: (make) => {
      const same = { eventId: randomUUID(), deliveryId: randomUUID() };
      return [
        { send: make.signed({ ...same, timestamp: String(make.now - 60) }), expect: "accept" },
        { send: make.signed(same), expect: "accept" },
      ];
    },
  },
  {
    id: "duplicate_at_once",
    title: "answers duplicates that come at the same time with success",
    advice: `${advice.duplicate} Let the database decide which came first, by a unique key.`,
    atOnce: true,
    steps: (make) => {
      const same = { eventId: randomUUID(), deliveryId: randomUUID() };
      return [1, 2, 3].map(() => ({ send: make.signed(same), expect: "accept" as const }));
    },
  },

  {
    id: "unsigned",
    title: "refuses a request without signature and timestamp",
    advice: advice.refusal,
    steps: refuses((make) => make.withHeader(make.withHeader(make.signed(), "Signature", null), "Timestamp", null)),
  },
  {
    id: "signature_missing",
    title: "refuses a request without a signature",
    advice: advice.refusal,
    steps: refuses((make) => make.withHeader(make.signed(), "Signature", null)),
  },
  {
    id: "timestamp_missing",
    title: "refuses a request without a timestamp",
    advice: advice.refusal,
    steps: refuses((make) => make.withHeader(make.signed(), "Timestamp", null)),
  },
  {
    id: "timestamp_missing_body_signed",
    title: "refuses a request without a timestamp whose body alone is signed",
    advice: advice.refusal,
    steps: refuses((make) => make.withHeader(make.signed({ signedPrefix: "." }), "Timestamp", null)),
  },
  {
    id: "other_secret",
    title: "refuses the signature of another secret",
    advice: advice.signature,
    steps: refusesSigned(() => ({ key: "another secret" })),
  },
  {
    id: "empty_secret",
    title: "refuses the signature of an empty secret",
    advice: "Don't start without a secret: an empty one lets anybody sign.",
    steps: refusesSigned(() => ({ key: "" })),
  },
  {
    id: "decoded_secret",
    title: "refuses the signature of the secret decoded from Base64",
    advice: advice.bytes,
    steps: refusesSigned(({ secret }) => ({ key: Buffer.from(secret, "base64") })),
  },
  {
    id: "changed_body",
    title: "refuses a body that was changed",
    advice: advice.signature,
    steps: refuses((make) => {
      const body = make.event();
      const changed = Buffer.from(Buffer.from(body).toString().replace('"id":"', '"id":"0'));
      return make.signed({ body: changed, signedBody: body });
    }),
  },
  {
    id: "changed_spacing",
    title: "refuses a body that was parsed and written again",
    advice: advice.bytes,
    steps: refuses((make) => {
      const body = make.event();
      return make.signed({ body: Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 2)), signedBody: body });
    }),
  },
  {
    id: "changed_timestamp",
    title: "refuses a timestamp other than the signed one",
    advice: advice.signature,
    steps: refusesSigned(({ now }) => ({ signedPrefix: `${now - 1}.` })),
  },
  {
    id: "body_signed",
    title: "refuses a signature of the body alone",
    advice: advice.signature,
    steps: refusesSigned(() => ({ signedPrefix: "" })),
  },
  {
    id: "stale",
    title: "refuses a request that was signed six minutes ago",
    advice: advice.clock,
    steps: refusesSigned(({ now }) => ({ timestamp: String(now - STALE_SECONDS) })),
  },
  {
    id: "future",
    title: "refuses a request that was signed six minutes ahead",
    advice: advice.clock,
    steps: refusesSigned(({ now }) => ({ timestamp: String(now + STALE_SECONDS) })),
  },
  {
    id: "ancient",
    title: "refuses a request that was signed in 1970",
    advice: advice.clock,
    steps: refusesSigned(() => ({ timestamp: "0" })),
  },
  ...refusedTimestamps.map(
    ([id, what, timestamp]): Check => ({
      id,
      title: `refuses ${what}`,
      advice: advice.timestamp,
      steps: refusesSigned(({ now }) => ({ timestamp: timestamp(now) })),
    }),
  ),
  ...refusedSignatures.map(
    ([id, what, signature]): Check => ({
      id,
      title: `refuses ${what}`,
      advice: advice.signature,
      steps: refusesSigned(() => ({ signature })),
    }),
  ),

  {
    id: "two_signatures",
    title: "refuses two signatures, whichever of them is right",
    advice: advice.once,
    steps: (make) => {
      const forged = `sha256=${"0".repeat(64)}`;
      const good = make.signed();
      const right = make.valueOf(good, "Signature");
      const bad = make.withHeader(good, "Signature", null);
      return [
        { send: make.withHeader(good, "Signature", forged), expect: "refuse" },
        { send: make.withHeader(make.withHeader(bad, "Signature", forged), "Signature", right), expect: "refuse" },
        { send: make.withHeader(good, "Signature", right), expect: "refuse" },
      ];
    },
  },
  {
    id: "joined_signatures",
    title: "refuses two signatures in one header",
    advice: advice.once,
    steps: refusesSigned(() => ({ signature: (right) => `${right}, ${right}` })),
  },
  {
    id: "two_timestamps",
    title: "refuses two timestamps",
    advice: advice.once,
    steps: (make) => {
      const good = make.signed();
      return [make.now, make.now - 1].map((timestamp) => ({
        send: make.withHeader(good, "Timestamp", String(timestamp)),
        expect: "refuse" as const,
      }));
    },
  },
  {
    id: "two_events",
    title: "refuses two event headers",
    advice: advice.once,
    steps: refuses((make) => make.withHeader(make.signed(), "Event", "Another")),
  },
  {
    id: "two_delivery_ids",
    title: "refuses two delivery ids",
    advice: advice.once,
    steps: refuses((make) => make.withHeader(make.signed(), "Delivery-Id", randomUUID())),
  },

  {
    id: "oversized",
    title: "refuses a signed body of 8 MiB",
    advice: advice.size,
    steps: one("refuse_or_close", (make) => make.signed({ body: eventOf(make, OVERSIZED_BYTES) })),
  },
  {
    id: "oversized_without_length",
    title: "refuses a signed body of 8 MiB that does not tell its length",
    advice: advice.size,
    steps: one("refuse_or_close", (make) => withoutLength(make.signed({ body: eventOf(make, OVERSIZED_BYTES) }))),
  },
  {
    id: "method_get",
    title: "refuses a signed GET",
    advice: advice.method,
    steps: refuses((make) => make.signed({ method: "GET" })),
  },
  {
    id: "method_put",
    title: "refuses a signed PUT",
    advice: advice.method,
    steps: refuses((make) => make.signed({ method: "PUT" })),
  },

  {
    id: "no_json",
    title: "survives a signed body that is not JSON",
    advice: advice.survive,
    steps: survives((make) => ({ send: make.signed({ body: Buffer.from('{"id":') }), expect: "answer" })),
  },
  {
    id: "no_text",
    title: "survives a signed body that is not UTF-8",
    advice: advice.survive,
    steps: survives((make) => ({ send: make.signed({ body: Buffer.from([0xff, 0x00, 0xfe]) }), expect: "answer" })),
  },
  {
    id: "no_body",
    title: "survives a signed body of no bytes",
    advice: advice.survive,
    steps: survives((make) => ({ send: make.signed({ body: new Uint8Array() }), expect: "answer" })),
  },
  {
    id: "no_event",
    title: "survives signed JSON that is no event",
    advice: `${advice.survive} An admin may send any JSON by hand.`,
    steps: (make) => [
      ...["null", "[]", '"text"', '{"type":7,"data":null}'].map((text) => ({
        send: make.signed({ body: Buffer.from(text) }),
        expect: "answer" as const,
      })),
      { send: make.signed(), expect: "accept" },
    ],
  },
  {
    id: "deep_json",
    title: "survives signed JSON that is nested 10,000 deep",
    advice: advice.survive,
    steps: survives((make) => ({
      send: make.signed({ body: Buffer.from("[".repeat(10_000) + "]".repeat(10_000)) }),
      expect: "answer",
    })),
  },
  {
    id: "cut_off",
    title: "survives a request that is cut off in its body",
    advice: "Handle a connection that ends in the middle: it must not end the program.",
    steps: survives(() => ({
      send: {
        raw: ({ pathname, search, host }) =>
          `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 100\r\n\r\n{`,
      },
      expect: "nothing",
    })),
  },
  {
    id: "no_http",
    title: "survives bytes that are no HTTP",
    advice: "Handle errors of the connection: they must not end the program.",
    steps: survives(() => ({ send: { raw: () => "\u0000\u0001 no request at all\r\n\r\n" }, expect: "nothing" })),
  },
];
