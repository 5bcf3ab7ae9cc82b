import { describe, expect, test } from "@jest/globals";
import { median, quantile } from "./statistics.ts";

describe("the median", () => {
  test("is the middle of an odd number of values, and between the middle two of an even one", () => {
    expect(median([30, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });
});

describe("a quantile", () => {
  test("has that share of the values below it", () => {
    const values = Array.from({ length: 100 }, (_, index) => 99 - index);
    expect(quantile(values, 0.5)).toBe(50);
    expect(quantile(values, 0.95)).toBe(95);
    expect(quantile(values, 1)).toBe(99);
    expect(quantile([], 0.5)).toBeNaN();
  });
});
