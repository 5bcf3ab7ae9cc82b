import { describe, expect, test } from "@jest/globals";
import { backoffMs } from "./backoff.ts";

const limits = { firstMs: 100, longestMs: 5_000 };

describe("backoff", () => {
  test("doubles up to its limit", () => {
    const waits = [1, 2, 3, 6, 7, 2_000].map((failures) => backoffMs(failures, limits, () => 0.5));
    expect(waits).toEqual([100, 200, 400, 3_200, 5_000, 5_000]);
  });

  test("spreads by a fifth to either side", () => {
    expect(backoffMs(1, limits, () => 0)).toBe(80);
    expect(backoffMs(1, limits, () => 1)).toBeCloseTo(120);
  });
});
