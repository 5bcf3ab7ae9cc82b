import { randomUUID } from "node:crypto";
import { advice, type Check, refuses, refusesSigned } from "./check.ts";
import { forgedSignature, type Scheme } from "./request-maker.ts";

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

type ForgedSignature = [id: string, title: string, signature: (right: string) => string];

const refusedSignatures: Record<Scheme, ForgedSignature[]> = {
  herald: [
    ["signature_empty", "an empty signature", () => ""],
    ["signature_zeros", "a forged signature", () => forgedSignature("herald")],
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
  ],
  standard: [
    ["signature_empty", "an empty signature", () => ""],
    ["signature_zeros", "a forged signature", () => forgedSignature("standard")],
    ["signature_without_scheme", "a signature without its version", (right) => right.slice("v1,".length)],
    ["signature_other_scheme", "a signature of another version", (right) => right.replace("v1", "v2")],
    ["signature_short", "a signature that is a character short", (right) => right.slice(0, -1)],
    ["signature_long", "a signature that has a character too many", (right) => `${right}A`],
    [
      "signature_hexadecimal",
      "a signature in hex digits",
      (right) => `v1,${Buffer.from(right.slice(3), "base64").toString("hex")}`,
    ],
  ],
};

/**
 * The requests that a receiver of this scheme has to refuse. Titles and ids name the scheme of Standard Webhooks.
 */
export function forgedRequests(scheme: Scheme): Check[] {
  if (scheme === "herald") return [...signatureChecks(scheme), ...REPEATED_HEADERS];
  return signatureChecks(scheme).map((check) => ({
    ...check,
    id: `standard_${check.id}`,
    title: `${check.title} (webhook-signature)`,
  }));
}

function signatureChecks(scheme: Scheme): Check[] {
  return [
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
      steps: refuses((make) => make.withHeader(make.signed({ signedTimestamp: "" }), "Timestamp", null)),
    },
    {
      id: "other_secret",
      title: "refuses the signature of another secret",
      advice: scheme === "herald" ? advice.signature : advice.standardSignature,
      steps: refusesSigned(() => ({ key: "another secret" })),
    },
    {
      id: "empty_secret",
      title: "refuses the signature of an empty secret",
      advice: "Don't start without a secret: an empty one lets any sender sign.",
      steps: refusesSigned(() => ({ key: "" })),
    },
    scheme === "herald"
      ? {
          id: "decoded_secret",
          title: "refuses the signature of the secret decoded from Base64",
          advice: advice.key,
          steps: refusesSigned(({ secret }) => ({ key: Buffer.from(secret, "base64") })),
        }
      : {
          id: "literal_secret",
          title: "refuses the signature of the secret's text, not decoded from Base64",
          advice: advice.key,
          steps: refusesSigned(({ secret }) => ({ key: secret })),
        },
    {
      id: "changed_body",
      title: "refuses a body that was changed",
      advice: scheme === "herald" ? advice.signature : advice.standardSignature,
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
      advice: scheme === "herald" ? advice.signature : advice.standardSignature,
      steps: refusesSigned(({ now }) => ({ signedTimestamp: String(now - 1) })),
    },
    {
      id: "body_signed",
      title: "refuses a signature of the body alone",
      advice: scheme === "herald" ? advice.signature : advice.standardSignature,
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
    ...refusedSignatures[scheme].map(
      ([id, what, signature]): Check => ({
        id,
        title: `refuses ${what}`,
        advice: scheme === "herald" ? advice.signature : advice.standardSignature,
        steps: refusesSigned(() => ({ signature })),
      }),
    ),
  ];
}

/**
 * For Herald's own scheme alone: `webhook-signature` may hold several signatures by definition, and libraries take the
 * first of two timestamps, which is as good as one.
 */
const REPEATED_HEADERS: readonly Check[] = [
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
];
