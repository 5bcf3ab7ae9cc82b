import { expect, test } from "@jest/globals";
import { attemptHeaders } from "./attempt-headers.ts";

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
