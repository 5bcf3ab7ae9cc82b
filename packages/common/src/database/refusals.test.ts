import { expect, test } from "@jest/globals";
import pg from "pg";
import { createRefusals } from "./refusals.ts";

const refusal = new pg.DatabaseError("sorry, too many clients already", 0, "error");

test("PostgreSQL refuses connections until some have been opened for five seconds without a refusal, or nobody tries for a minute", () => {
  let nowMs = 0;
  const refusals = createRefusals(() => nowMs);
  const at = (ms: number) => {
    nowMs = ms;
    return refusals.latest();
  };
  expect(at(0)).toBeUndefined();
  refusals.failed(new Error("connect ECONNREFUSED"));
  expect(at(0)).toBeUndefined();
  refusals.failed(refusal);
  refusals.connected();
  expect(at(4_999)).toBe(refusal);
  refusals.failed(refusal);
  expect(at(5_000)).toBe(refusal);
  expect(at(60_000)).toBe(refusal);
  refusals.connected();
  expect(at(60_000)).toBeUndefined();
  refusals.failed(refusal);
  expect(at(119_999)).toBe(refusal);
  expect(at(120_000)).toBeUndefined();
});
