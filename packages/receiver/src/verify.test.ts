import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { sign } from "./sign.ts";
import { type RejectionReason, type VerifyInput, verify } from "./verify.ts";

const secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const at = 1_763_650_800;
const now = new Date(at * 1000);
const deliveryId = "0198f2c1-7e4a-7c11-9d7e-2f4b6a1c3d5e";
const eventId = "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111";
const event = {
  id: eventId,
  type: "WorkItemCompleted",
  occurredAtUtc: "2025-11-20T15:00:00Z",
  entityType: "WorkItem",
  entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
  data: { changes: { Status: { oldValue: "In progress", newValue: "Done" } } },
};
const body = Buffer.from(JSON.stringify(event));
const signature = sign(secret, at, body);
/** Written out apart from `sign`, for requests that no sender makes. */
const hmac = (prefix: string, bytes: Uint8Array) =>
  `sha256=${createHmac("sha256", secret).update(prefix).update(bytes).digest("hex")}`;
const good = {
  "x-service-signature": signature,
  "x-service-timestamp": String(at),
  "x-service-event": "WorkItemCompleted",
  "x-service-delivery-id": deliveryId,
};

const request = (changes: Partial<VerifyInput> = {}): VerifyInput => ({ secret, headers: good, body, now, ...changes });
const withHeaders = (changes: Record<string, string | string[] | undefined>) =>
  request({ headers: { ...good, ...changes } });
const withSignature = (value: string | string[]) => withHeaders({ "x-service-signature": value });
/** A request whose timestamp header is `text`. Its signature is over this text. */
const withTimestamp = (text: string) =>
  withHeaders({ "x-service-timestamp": text, "x-service-signature": hmac(`${text}.`, body) });
const signedAt = (timestamp: number, changes: Partial<VerifyInput> = {}) => ({
  ...withTimestamp(String(timestamp)),
  ...changes,
});
const signedBody = (bytes: Uint8Array) => ({
  ...withSignature(sign(secret, at, bytes)),
  body: bytes,
});
const without = (name: keyof typeof good) => withHeaders({ [name]: undefined });
const upperCased = Object.fromEntries(Object.entries(good).map(([name, value]) => [name.toUpperCase(), value]));

describe("§4.4.3 a good request", () => {
  test.each<[string, VerifyInput]>([
    ["a request that is signed right and in time", request()],
    ["a body of no bytes", signedBody(Buffer.alloc(0))],
    ["a body that is not JSON", signedBody(Buffer.from("hello"))],
    ["a body that is not UTF-8", signedBody(Buffer.from([0xff, 0x00, 0xfe]))],
    ["a body of 256 KiB", signedBody(Buffer.alloc(256 * 1024, "a"))],
    ["a body in a Uint8Array", signedBody(new TextEncoder().encode("{}"))],
    ["a body in a slice of a larger buffer", request({ body: Buffer.concat([Buffer.from("x"), body]).subarray(1) })],
    ["§4.4.3/tolerance §8/tolerance a timestamp 300 s old", request({ now: new Date((at + 300) * 1000) })],
    ["a timestamp 300 s old within the second", request({ now: new Date((at + 300) * 1000 + 999) })],
    ["§4.4.3/tolerance a timestamp 300 s ahead", request({ now: new Date((at - 300) * 1000) })],
    ["a timestamp at a tolerance of its own", request({ now: new Date((at + 10) * 1000), toleranceSeconds: 10 })],
    ["a timestamp of this very second at no tolerance", request({ toleranceSeconds: 0 })],
    ["timestamp 0", signedAt(0, { now: new Date(0) })],
    [
      "§4.4.3/timestamp §8/timestamp-length the largest safe integer, of 16 digits",
      signedAt(Number.MAX_SAFE_INTEGER, { toleranceSeconds: 1e16 }),
    ],
    ["header names in capitals", request({ headers: upperCased })],
    ["headers of fetch", request({ headers: new Headers(good) })],
    ["headers as pairs", request({ headers: Object.entries(good) })],
    ["headers as lists of one", request({ headers: mapValues(good, (value) => [value]) })],
    ["any one of several secrets", request({ secret: ["another", secret, "a third"] })],
    ["§4.3/unsigned no event header", without("x-service-event")],
    ["§4.3/unsigned no delivery-id header", without("x-service-delivery-id")],
    ["another header that is there twice", withHeaders({ "x-forwarded-for": ["10.0.0.1", "10.0.0.2"] })],
    [
      "another prefix of the headers",
      request({ headers: mapKeys(good, (name) => name.replace("x-service", "acme")), headerPrefix: "Acme" }),
    ],
  ])("%s is accepted", (_title, input) => {
    expect(verify(input)).toMatchObject({ ok: true });
  });
});

describe("§4.4.3 a bad request", () => {
  const hex = signature.slice("sha256=".length);
  test.each<[string, RejectionReason, VerifyInput]>([
    ["no headers at all", "missing_signature", request({ headers: {} })],
    ["no signature", "missing_signature", without("x-service-signature")],
    ["§4.4.3/signature an empty signature", "malformed_signature", withSignature("")],
    ["§4.4.3/signature a signature without its scheme", "malformed_signature", withSignature(hex)],
    ["§4.4.3/signature another scheme", "malformed_signature", withSignature(`sha512=${hex}`)],
    ["the scheme in capitals", "malformed_signature", withSignature(`SHA256=${hex}`)],
    ["§4.4.3/signature capital hex", "malformed_signature", withSignature(`sha256=${hex.toUpperCase()}`)],
    ["§4.4.3/signature 63 hex digits", "malformed_signature", withSignature(signature.slice(0, -1))],
    ["§4.4.3/signature 65 hex digits", "malformed_signature", withSignature(`${signature}0`)],
    ["a digit that is not hex", "malformed_signature", withSignature(`${signature.slice(0, -1)}g`)],
    ["a space before the signature", "malformed_signature", withSignature(` ${signature}`)],
    ["a line feed after the signature", "malformed_signature", withSignature(`${signature}\n`)],
    [
      "the digest in Base64",
      "malformed_signature",
      withSignature(`sha256=${Buffer.from(hex, "hex").toString("base64")}`),
    ],
    ["no timestamp", "missing_timestamp", without("x-service-timestamp")],
    ["§4.4.3/timestamp an empty timestamp", "malformed_timestamp", withTimestamp("")],
    ["§4.4.3/timestamp a timestamp with a leading zero", "malformed_timestamp", withTimestamp(`0${at}`)],
    ["a timestamp with a plus", "malformed_timestamp", withTimestamp(`+${at}`)],
    ["§4.4.3/timestamp a negative timestamp", "malformed_timestamp", withTimestamp("-1")],
    ["a timestamp with a fraction", "malformed_timestamp", withTimestamp(`${at}.0`)],
    ["a space after the timestamp", "malformed_timestamp", withTimestamp(`${at} `)],
    ["digits that are not ASCII", "malformed_timestamp", withTimestamp("١٧٦٣٦٥٠٨٠٠")],
    ["§4.4.3/timestamp the first unsafe integer", "malformed_timestamp", withTimestamp("9007199254740992")],
    [
      "§4.4.3/timestamp §8/timestamp-length a timestamp of 17 digits",
      "malformed_timestamp",
      withTimestamp("10000000000000000"),
    ],
    [
      "§4.4.3/tolerance §8/tolerance a timestamp 301 s old",
      "timestamp_too_old",
      request({ now: new Date((at + 301) * 1000) }),
    ],
    ["§4.4.3/tolerance a timestamp 301 s ahead", "timestamp_too_new", request({ now: new Date((at - 301) * 1000) })],
    ["a timestamp in milliseconds", "timestamp_too_new", withTimestamp(String(at * 1000))],
    ["another timestamp than was signed", "signature_mismatch", withHeaders({ "x-service-timestamp": String(at + 1) })],
    ["another body", "signature_mismatch", request({ body: Buffer.from("{}") })],
    [
      "§4.4.1 a reserialized body",
      "signature_mismatch",
      request({ body: Buffer.from(JSON.stringify(event, null, 2)) }),
    ],
    [
      "§4.4.1 a line feed after the body",
      "signature_mismatch",
      request({ body: Buffer.concat([body, Buffer.from("\n")]) }),
    ],
    ["another secret", "signature_mismatch", request({ secret: "another" })],
    ["several other secrets", "signature_mismatch", request({ secret: ["another", "a third"] })],
    ["§4.3.2 a trimmed secret", "signature_mismatch", request({ secret: `${secret} ` })],
    [
      "§4.3.2 a secret that was Base64-decoded",
      "signature_mismatch",
      request({ secret: Buffer.from(secret, "base64").toString("latin1") }),
    ],
    ["a signature of the body alone", "signature_mismatch", withSignature(hmac("", body))],
    ["§4.4.4 two signatures", "duplicate_header", withSignature([signature, signature])],
    ["§4.4.4 two signatures, joined", "duplicate_header", withSignature(`${signature}, ${signature}`)],
    ["§4.4.4 two spellings of one header", "duplicate_header", withHeaders({ "X-Service-Signature": signature })],
    ["§4.4.4 two timestamps", "duplicate_header", withHeaders({ "x-service-timestamp": [String(at), String(at)] })],
    ["§4.4.4 two events", "duplicate_header", withHeaders({ "x-service-event": ["WorkItemCompleted", "RiskCreated"] })],
    ["§4.4.4 two delivery ids", "duplicate_header", withHeaders({ "x-service-delivery-id": [deliveryId, deliveryId] })],
    [
      "§4.4.4 two headers of fetch",
      "duplicate_header",
      request({ headers: appended(good, "x-service-event", "Other") }),
    ],
    [
      "§4.4.4 two pairs",
      "duplicate_header",
      request({ headers: [...Object.entries(good), ["X-Service-Timestamp", "1"]] }),
    ],
    ["an unknown prefix of the headers", "missing_signature", request({ headerPrefix: "Acme" })],
  ])("%s is rejected as %s", (_title, reason, input) => {
    const verdict = verify(input);
    expect(verdict).toEqual({ ok: false, reason, message: expect.any(String) });
    expect(JSON.stringify(verdict)).not.toContain(secret);
  });
});

test("§4.3.3 the signature of a known request is what openssl computes", () => {
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'c2VjcmV0'
  expect(sign("c2VjcmV0", 1_700_000_000, Buffer.from('{"a":1}'))).toBe(
    "sha256=ef2aafb21508618574bc60b8b0ee60a39f6ff8760bf9c211bc635fdbbcefaa0c",
  );
});

test("§4.3/unsigned what is trusted comes out of the verified body, not out of the headers", () => {
  const verdict = verify(withHeaders({ "x-service-event": "RiskCreated" }));
  expect(verdict).toEqual({
    ok: true,
    timestamp: at,
    event: "WorkItemCompleted",
    eventId,
    payload: event,
    claimedEvent: "RiskCreated",
    deliveryId,
  });
});

test("§4.4.8 a manual payload has no trusted type and no event id", () => {
  expect(verify(signedBody(Buffer.from('["anything"]')))).toMatchObject({ ok: true, event: null, eventId: null });
});

test("§4.4.9 the same request verifies as often as it comes: its event's id tells a replay", () => {
  expect([verify(request()).ok, verify(request()).ok]).toEqual([true, true]);
});

test("§4.4.3/compare digests meet in timingSafeEqual and nowhere else", () => {
  const source = readFileSync(new URL("./verify.ts", import.meta.url), "utf8");
  const comparisons = source.split("\n").filter((line) => line.includes("digest("));
  expect(comparisons).toEqual([expect.stringContaining("timingSafeEqual(digest(")]);
});

test("an event id is compared without case, and only a UUID is one", () => {
  const withId = (id: unknown) => verify(signedBody(Buffer.from(JSON.stringify({ id }))));
  expect(withId(eventId.toUpperCase())).toMatchObject({ eventId });
  expect(withId("1; drop table")).toMatchObject({ eventId: null });
  expect(withId(7)).toMatchObject({ eventId: null });
});

test.each<[string, Partial<VerifyInput>]>([
  ["no secret", { secret: [] }],
  ["an empty secret, with which anyone could sign", { secret: "" }],
  ["an empty secret among others", { secret: [secret, ""] }],
  ["an undefined secret", { secret: undefined as never }],
  ["an undefined secret among others", { secret: [secret, undefined as never] }],
  ["a body that is text", { body: body.toString() as never }],
  ["a parsed body", { body: event as never }],
  ["a tolerance that is no number", { toleranceSeconds: Number.NaN }],
  ["a negative tolerance", { toleranceSeconds: -1 }],
  ["a time that is none", { now: new Date(Number.NaN) }],
])("%s throws, since it is a mistake of the caller", (_title, changes) => {
  expect(() => verify(request(changes))).toThrow(/^verify: /);
});

function mapValues<Value>(headers: Record<string, string>, change: (value: string) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(value)]));
}

function mapKeys(headers: Record<string, string>, change: (name: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [change(name), value]));
}

function appended(headers: Record<string, string>, name: string, value: string): Headers {
  const result = new Headers(headers);
  result.append(name, value);
  return result;
}
