import { expect, test } from "@jest/globals";
import { assertSupported } from "./postgres-version.ts";

test("a server that is too old is refused, with its version and the reason", () => {
  expect(() => assertSupported(170_006, "17.6")).toThrow(/PostgreSQL 17\.6; Herald needs 18 or newer, for uuidv7\(\)/);
});

test("the oldest supported server passes, and newer ones do", () => {
  assertSupported(180_000, "18.0");
  assertSupported(190_001, "19.1");
});
