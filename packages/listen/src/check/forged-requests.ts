import { randomUUID } from "node:crypto";
import { advice, type Check, refuses, refusesSigned } from "./check.ts";
import { type SignatureText, written, zeros } from "./request-maker.ts";

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

/** The requests that a receiver has to refuse. */
export const FORGED_REQUESTS: readonly Check[] = [
  {
    id: "unsigned",
    title: "refuses a request without signature and timestamp",
    advice: advice.refusal,
    steps: refuses((make) => make.without(make.signed(), "Signature", "Timestamp")),
  },
  {
    id: "signature_missing",
    title: "refuses a request without a signature",
    advice: advice.refusal,
    steps: refuses((make) => make.without(make.signed(), "Signature")),
  },
  {
    id: "timestamp_missing",
    title: "refuses a request without a timestamp",
    advice: advice.refusal,
    steps: refuses((make) => make.without(make.signed(), "Timestamp")),
  },
  {
    id: "timestamp_missing_body_signed",
    title: "refuses a request without a timestamp whose body alone is signed",
    advice: advice.refusal,
    steps: refuses((make) => make.without(make.signed({ signedTimestamp: "" }), "Timestamp")),
  },
  {
    id: "other_secret",
    title: "refuses the signature of another secret",
    advice: advice.signature,
    steps: refusesSigned(() => ({ key: { text: "another secret" } })),
  },
  {
    id: "empty_secret",
    title: "refuses the signature of an empty secret",
    advice: "Don't start without a secret: an empty one lets any sender sign.",
    steps: refusesSigned(() => ({ key: { text: "" } })),
  },
  {
    id: "other_key",
    title: "refuses the signature of the secret decoded from Base64",
    advice: advice.key,
    steps: refusesSigned(() => ({ key: "swapped" })),
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
      return make.signed({
        body: Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 2)),
        signedBody: body,
      });
    }),
  },
  {
    id: "changed_timestamp",
    title: "refuses a timestamp other than the signed one",
    advice: advice.signature,
    steps: refusesSigned(({ now }) => ({ signedTimestamp: String(now - 1) })),
  },
  {
    id: "body_signed",
    title: "refuses a signature of the body alone",
    advice: advice.signature,
    steps: refusesSigned(() => ({ signedTimestamp: null })),
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
  // These repeat Herald's own headers only. Repeated headers of Standard Webhooks are no fault: its signature header may hold several signatures.
  {
    id: "two_signatures",
    title: "refuses two signatures, whichever of them is right",
    advice: advice.once,
    steps: (make) => {
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
  },
  {
    id: "joined_signatures",
    title: "refuses two signatures in one header",
    advice: advice.once,
    steps: refusesSigned(() => ({
      signature: (right) => `${written(right)}, ${written(right)}`,
      isStandardForged: true,
    })),
  },
  {
    id: "two_timestamps",
    title: "refuses two timestamps",
    advice: advice.once,
    steps: (make) => {
      const good = make.signed({ isStandardForged: true });
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
    steps: refuses((make) => make.withHeader(make.signed({ isStandardForged: true }), "Event", "Another")),
  },
  {
    id: "two_delivery_ids",
    title: "refuses two delivery ids",
    advice: advice.once,
    steps: refuses((make) => make.withHeader(make.signed({ isStandardForged: true }), "Delivery-Id", randomUUID())),
  },
];
