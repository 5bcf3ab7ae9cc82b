import { expect, test } from "@jest/globals";
import { backoffMs } from "./timing.ts";

const limits = { firstMs: 100, longestMs: 5_000 };

test("a backoff doubles with each failure, up to its limit", () => {
  const waits = [1, 2, 3, 6, 7, 2_000].map((failures) => backoffMs(failures, limits, () => 0.5));
  expect(waits).toEqual([100, 200, 400, 3_200, 5_000, 5_000]);
});

test("a backoff varies by a fifth in both directions", () => {
  expect(backoffMs(1, limits, () => 0)).toBe(80);
  expect(backoffMs(1, limits, () => 1)).toBeCloseTo(120);
});
