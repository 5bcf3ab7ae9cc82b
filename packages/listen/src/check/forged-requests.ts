import { randomUUID } from "node:crypto";
import { advice, type Check, checksOf, refuses, refusesSigned } from "./check.ts";
import { type Deviation, type RequestMaker, type SignatureText, written, zeros } from "./request-maker.ts";

const STALE_SECONDS = 360;

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

const refusedSignatures: [id: string, title: string, signature: (right: SignatureText) => string][] = [
  ["signature_empty", "an empty signature", () => ""],
  ["signature_zeros", "a forged signature", zeros],
  ["signature_without_scheme", "a signature without its scheme", (right) => written({ ...right, prefix: "" })],
  [
    "signature_other_scheme",
    "a signature of another scheme",
    (right) => written({ ...right, prefix: right.otherPrefix }),
  ],
  [
    "signature_scheme_capitals",
    "a signature whose scheme is in capitals",
    (right) => written({ ...right, prefix: right.prefix.toUpperCase() }),
  ],
  [
    "signature_capitals",
    "a signature in capital hex digits",
    ({ prefix, mac, encoding }) => prefix + mac.toString(encoding).toUpperCase(),
  ],
  ["signature_short", "a signature that is a digit short", (right) => written(right).slice(0, -1)],
  ["signature_long", "a signature that has a digit too many", (right) => `${written(right)}A`],
  [
    "signature_other_encoding",
    "a signature in Base64 instead of hex digits",
    (right) => written({ ...right, encoding: right.encoding === "hex" ? "base64" : "hex" }),
  ],
];

const refusedDeviations: [id: string, what: string, advice: string, deviation: (make: RequestMaker) => Deviation][] = [
  ["other_secret", "the signature of another secret", advice.signature, () => ({ key: { text: "another secret" } })],
  ["empty_secret", "the signature of an empty secret", advice.emptySecret, () => ({ key: { text: "" } })],
  ["other_key", "the signature of the secret decoded from Base64", advice.key, () => ({ key: "swapped" })],
  ["body_signed", "a signature of the body alone", advice.signature, () => ({ signedTimestamp: null })],
  ["changed_timestamp", "a timestamp other than the signed one", advice.signature, signedAt(-1)],
  ["stale", "a request that was signed six minutes ago", advice.clock, sentAt(-STALE_SECONDS)],
  ["future", "a request that was signed six minutes ahead", advice.clock, sentAt(STALE_SECONDS)],
  ["ancient", "a request that was signed in 1970", advice.clock, () => ({ timestamp: "0" })],
];

function signedAt(seconds: number) {
  return ({ now }: RequestMaker): Deviation => ({ signedTimestamp: String(now + seconds) });
}

function sentAt(seconds: number) {
  return ({ now }: RequestMaker): Deviation => ({ timestamp: String(now + seconds) });
}

export const FORGED_REQUESTS: readonly Check[] = checksOf([
  [
    "unsigned",
    "refuses a request without signature and timestamp",
    advice.refusal,
    refuses((make) => make.without(make.signed(), "Signature", "Timestamp")),
  ],
  [
    "signature_missing",
    "refuses a request without a signature",
    advice.refusal,
    refuses((make) => make.without(make.signed(), "Signature")),
  ],
  [
    "timestamp_missing",
    "refuses a request without a timestamp",
    advice.refusal,
    refuses((make) => make.without(make.signed(), "Timestamp")),
  ],
  [
    "timestamp_missing_body_signed",
    "refuses a request without a timestamp whose body alone is signed",
    advice.refusal,
    refuses((make) => make.without(make.signed({ signedTimestamp: "" }), "Timestamp")),
  ],
  ...refusedDeviations.map(
    ([id, what, advised, deviation]) => [id, `refuses ${what}`, advised, refusesSigned(deviation)] as const,
  ),
  [
    "changed_body",
    "refuses a body that was changed",
    advice.signature,
    refuses((make) => {
      const body = make.event();
      const changed = Buffer.from(Buffer.from(body).toString().replace('"id":"', '"id":"0'));
      return make.signed({ body: changed, signedBody: body });
    }),
  ],
  [
    "changed_spacing",
    "refuses a body that was parsed and written again",
    advice.bytes,
    refuses((make) => {
      const body = make.event();
      const written = Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 2));
      return make.signed({ body: written, signedBody: body });
    }),
  ],
  ...refusedTimestamps.map(
    ([id, what, timestamp]) =>
      [id, `refuses ${what}`, advice.timestamp, refusesSigned(({ now }) => ({ timestamp: timestamp(now) }))] as const,
  ),
  ...refusedSignatures.map(
    ([id, what, signature]) => [id, `refuses ${what}`, advice.signature, refusesSigned(() => ({ signature }))] as const,
  ),
  // These repeat Herald's own headers only. Repeated headers of Standard Webhooks are no fault: its signature header may hold several signatures.
  [
    "two_signatures",
    "refuses two signatures, whichever of them is right",
    advice.once,
    (make) => {
      const forged = `sha256=${"0".repeat(64)}`;
      const good = make.signed({ isStandardForged: true });
      const right = make.valueOf(good, "Signature");
      const bad = make.without(good, "Signature");
      return [
        { send: make.withHeader(good, "Signature", forged), expect: "refuse" },
        { send: make.withHeader(make.withHeader(bad, "Signature", forged), "Signature", right), expect: "refuse" },
        { send: make.withHeader(good, "Signature", right), expect: "refuse" },
      ];
    },
  ],
  [
    "joined_signatures",
    "refuses two signatures in one header",
    advice.once,
    refusesSigned(() => ({
      signature: (right) => `${written(right)}, ${written(right)}`,
      isStandardForged: true,
    })),
  ],
  [
    "two_timestamps",
    "refuses two timestamps",
    advice.once,
    (make) => {
      const good = make.signed({ isStandardForged: true });
      return [make.now, make.now - 1].map((timestamp) => ({
        send: make.withHeader(good, "Timestamp", String(timestamp)),
        expect: "refuse" as const,
      }));
    },
  ],
  [
    "two_events",
    "refuses two event headers",
    advice.once,
    refuses((make) => make.withHeader(make.signed({ isStandardForged: true }), "Event", "Another")),
  ],
  [
    "two_delivery_ids",
    "refuses two delivery ids",
    advice.once,
    refuses((make) => make.withHeader(make.signed({ isStandardForged: true }), "Delivery-Id", randomUUID())),
  ],
]);
