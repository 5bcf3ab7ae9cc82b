import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { sign } from "./sign.ts";
import { type HeadersInput, type VerifyInput, verify } from "./verify.ts";

const SECRET = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const AT = 1_763_650_800;
const SIGNATURE = sign(SECRET, AT, Buffer.from("{}"));

const secrets = fc.string({ minLength: 1, unit: "grapheme" });
const seconds = fc.integer({ min: 0, max: 2 ** 40 });
const requestOf = (key: string, timestamp: number, bytes: Uint8Array): VerifyInput => ({
  secret: key,
  headers: { "X-Service-Signature": sign(key, timestamp, bytes), "X-Service-Timestamp": String(timestamp) },
  body: bytes,
  now: new Date(timestamp * 1000),
});

test("any body verifies with the secret that signed it", () => {
  fc.assert(
    fc.property(secrets, seconds, fc.uint8Array({ maxLength: 4096 }), (key, timestamp, bytes) => {
      expect(verify(requestOf(key, timestamp, bytes)).ok).toBe(true);
    }),
  );
});

test("no body verifies after one bit of it was flipped", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 1024 }), fc.nat(), (bytes, bit) => {
      const changed = flipped(bytes, bit);
      expect(verify({ ...requestOf(SECRET, AT, bytes), body: changed })).toMatchObject({
        reason: "signature_mismatch",
      });
    }),
  );
});

test("no request verifies after one bit of its signature or timestamp was flipped", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.nat(), fc.boolean(), (bytes, bit, inSignature) => {
      const input = requestOf(SECRET, AT, bytes);
      const headers = { ...(input.headers as Record<string, string>) };
      const name = inSignature ? "X-Service-Signature" : "X-Service-Timestamp";
      headers[name] = Buffer.from(flipped(Buffer.from(headers[name] ?? ""), bit)).toString("latin1");
      expect(verify({ ...input, headers }).ok).toBe(false);
    }),
  );
});

test("no headers make verify throw", () => {
  const anyHeaders = fc.dictionary(
    fc.constantFrom(
      "x-service-signature",
      "x-service-timestamp",
      "X-SERVICE-EVENT",
      "x-service-delivery-id",
      "__proto__",
    ),
    fc.oneof(fc.string(), fc.array(fc.string()), fc.constantFrom(SIGNATURE, String(AT))),
  );
  fc.assert(
    fc.property(anyHeaders, fc.uint8Array(), (headers, bytes) => {
      expect(
        typeof verify({ secret: SECRET, headers: headers as HeadersInput, body: bytes, now: new Date(AT * 1000) }).ok,
      ).toBe("boolean");
    }),
  );
});

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  const index = Math.floor(bit / 8) % bytes.length;
  changed[index] = (changed[index] ?? 0) ^ (1 << (bit % 8));
  return changed;
}
