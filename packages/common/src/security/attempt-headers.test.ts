import { createHmac } from "node:crypto";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { attemptHeaders } from "./attempt-headers.ts";
import { newSigningSecret, serviceSignature, standardWebhooksSignature } from "./signature.ts";

const SETTINGS = { headerPrefix: "X-Service", standardWebhooks: true };
const attempt = {
  deliveryId: "0b9bdf2e-3b5e-4f6c-9f4e-0d5a3f0d6f11",
  eventType: "RiskCreated",
  startedAt: new Date("2026-03-01T12:00:00.999Z"),
  body: '{"name":"Zoë"}',
};
const names = (headers: string[]) => headers.filter((_text, index) => index % 2 === 0);

test("§4.2/headers the headers of an attempt are these, in this order", () => {
  expect(names(attemptHeaders(attempt, SETTINGS, "secret"))).toEqual([
    "User-Agent",
    "Accept",
    "Content-Type",
    "Content-Length",
    "X-Service-Signature",
    "X-Service-Timestamp",
    "X-Service-Event",
    "X-Service-Delivery-Id",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
  ]);
});

test("without a secret the headers of an attempt are the same, but for the signatures", () => {
  const signed = attemptHeaders(attempt, SETTINGS, "secret");
  const isSignature = (index: number) => /signature/i.test(signed[index - (index % 2)] ?? "");
  expect(attemptHeaders(attempt, SETTINGS)).toEqual(signed.filter((_text, index) => !isSignature(index)));
});

test("the content length of an attempt counts bytes, and its timestamp whole seconds", () => {
  const headers = attemptHeaders(attempt, SETTINGS);
  expect(headers[headers.indexOf("Content-Length") + 1]).toBe("15");
  expect(headers[headers.indexOf("X-Service-Timestamp") + 1]).toBe("1772366400");
});

test("a trace context is handed on, and what is none is left out", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  expect(attemptHeaders({ ...attempt, traceparent }, SETTINGS).slice(-2)).toEqual(["traceparent", traceparent]);
  for (const none of [null, undefined, "", "nonsense", `${traceparent}\r\nX-Evil: 1`]) {
    expect(attemptHeaders({ ...attempt, traceparent: none }, SETTINGS)).not.toContain("traceparent");
  }
});

const SECRET = Buffer.alloc(32, 7).toString("base64");

test("§4.3.4 §8/signature-length the signature is sha256= and 64 lowercase hexadecimal characters, 71 in all", () => {
  const signature = serviceSignature(SECRET, "1700000000", "{}");
  expect(signature).toMatch(/^sha256=[0-9a-f]{64}$/);
  expect(signature).toHaveLength(71);
});

// Made with: printf '1700000000.{"a":"é"}' | openssl dgst -sha256 -hmac <the secret's text>
test("§4.3.1 §4.3.3 the signature is over the timestamp text, a dot and the raw body", () => {
  expect(serviceSignature(SECRET, "1700000000", '{"a":"é"}')).toBe(
    "sha256=b02e265dc464e4a1ad3769775e73138c3e4c5c2887136395d8789d487db64704",
  );
});

test("§4.3.2 §2.3/text the secret's literal text is the key: not decoded, not trimmed", () => {
  const message = "1700000000.{}";
  const literal = createHmac("sha256", Buffer.from(SECRET, "utf8")).update(message).digest("hex");
  expect(serviceSignature(SECRET, "1700000000", "{}")).toBe(`sha256=${literal}`);
  expect(serviceSignature(` ${SECRET} `, "1700000000", "{}")).not.toBe(`sha256=${literal}`);
});

test("§4.3.1 a body signs the same as text and as its UTF-8 bytes, line breaks, escapes and NUL included", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (body) => {
      expect(serviceSignature(SECRET, "1", body)).toBe(serviceSignature(SECRET, "1", Buffer.from(body, "utf8")));
    }),
  );
});

test("§4.1.4 other whitespace is another signature: nothing is normalized", () => {
  expect(serviceSignature(SECRET, "1", '{"a":1}')).not.toBe(serviceSignature(SECRET, "1", '{ "a": 1 }'));
});

test("the standardwebhooks library accepts the signature, given the signing secret as it was shown", () => {
  const now = String(Math.floor(Date.now() / 1000));
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.json(), (key, body) => {
      const secret = Buffer.from(key).toString("base64");
      const headers = {
        "webhook-id": "0b9bdf2e-3b5e-4f6c-9f4e-0d5a3f0d6f11",
        "webhook-timestamp": now,
        "webhook-signature": standardWebhooksSignature(secret, "0b9bdf2e-3b5e-4f6c-9f4e-0d5a3f0d6f11", now, body),
      };
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow("No matching signature");
    }),
  );
});

test("§2.3/text a new signing secret is 32 random bytes as Base64 text", () => {
  expect(newSigningSecret()).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(Buffer.from(newSigningSecret(), "base64")).toHaveLength(32);
  expect(newSigningSecret()).not.toBe(newSigningSecret());
});
