import { describe, expect, test } from "@jest/globals";
import { idempotencyKeyOf, requestHash } from "./answer-once.ts";

const keyOf = (...values: string[]) => idempotencyKeyOf({ headersDistinct: { "idempotency-key": values } });

describe("idempotency keys", () => {
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
});

describe("requests with one idempotency key", () => {
  const request = { operation: "deliverManually", params: { id: "a" }, body: { a: 1 } };

  test("requests with the same operation, address and body are the same", () => {
    expect(requestHash(structuredClone(request))).toEqual(requestHash(request));
  });

  test.each([
    ["operation", { operation: "createWebhook" }],
    ["address", { params: { id: "b" } }],
    ["body", { body: { a: 2 } }],
  ])("requests with another %s are different", (_what, change) => {
    expect(requestHash({ ...request, ...change })).not.toEqual(requestHash(request));
  });
});
