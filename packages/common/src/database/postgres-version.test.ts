import { expect, test } from "@jest/globals";
import { assertSupported } from "./postgres-version.ts";

test("a server that is too old is refused, with its version and the reason", () => {
  expect(() => assertSupported(140_020, "14.20")).toThrow(/PostgreSQL 14\.20; Herald needs 15 or newer/);
});

test("the oldest supported server passes, and newer ones do", () => {
  assertSupported(150_000, "15.0");
  assertSupported(190_001, "19.1");
});
