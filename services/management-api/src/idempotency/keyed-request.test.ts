import { describe, expect, test } from "@jest/globals";
import { idempotencyKeyOf, requestHash } from "./keyed-request.ts";

const keyOf = (...values: string[]) => idempotencyKeyOf({ headersDistinct: { "idempotency-key": values } });

test("a request without the header has no idempotency key", () => {
  expect(idempotencyKeyOf({ headersDistinct: {} })).toBeUndefined();
});

test.each(["8e03978e-40d5-43e8-bc93-6894a57f9324", '"quoted"', "x", "~".repeat(255)])(
  "%j is an idempotency key, and is taken as it is",
  (key) => expect(keyOf(key)).toBe(key),
);

test.each([
  ["an empty header", [""]],
  ["256 characters", ["x".repeat(256)]],
  ["a space", ["a b"]],
  ["another letter than ASCII has", ["\u00e4"]],
  ["a control character", ["a\u007f"]],
  ["the header twice", ["a", "a"]],
])("%s is no idempotency key", (_title, values) => {
  expect(() => keyOf(...values)).toThrow(expect.objectContaining({ code: "idempotency_key_invalid" }));
});

describe("requests with one idempotency key", () => {
  const params = { id: "a" };
  const request = { organizationId: "o", subject: "s", key: "k", operation: "deliverManually", params, body: { a: 1 } };

  test("requests with the same operation, address and body are the same", () => {
    expect(requestHash(structuredClone(request))).toEqual(requestHash(request));
  });

  test.each([
    ["of the body", { a: 1, b: { c: [1, { d: 2, e: 3 }], f: null } }, { b: { f: null, c: [1, { e: 3, d: 2 }] }, a: 1 }],
    ["with the names of numbers", { 10: 1, 9: 2, b: 3 }, { b: 3, 9: 2, 10: 1 }],
    ["with a name that JavaScript knows", JSON.parse('{"__proto__":1,"a":2}'), JSON.parse('{"a":2,"__proto__":1}')],
  ])("members %s have no order", (_title, body, other) => {
    expect(requestHash({ ...request, body: other })).toEqual(requestHash({ ...request, body }));
  });

  test.each([
    ["organization", { organizationId: "p" }],
    ["caller", { subject: "t" }],
    ["key", { key: "l" }],
    ["operation", { operation: "createWebhook" }],
    ["address", { params: { id: "b" } }],
    ["body", { body: { a: 2 } }],
    ["member in the body", { body: JSON.parse('{"a":1,"__proto__":1}') }],
  ])("requests with another %s are different", (_what, change) => {
    expect(requestHash({ ...request, ...change })).not.toEqual(requestHash(request));
  });
});
