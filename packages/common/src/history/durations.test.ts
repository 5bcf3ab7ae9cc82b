import { expect, test } from "@jest/globals";
import { percentileMs } from "./durations.ts";

test.each([
  ["none", [], 0.5, null],
  ["all in one class, in its middle", [10], 0.5, 25],
  ["at the end of a class", [5, 5], 0.5, 50],
  ["in the class after it", [5, 5], 0.95, 95],
  ["with empty classes between", [1, 0, 0, 3], 0.5, 333],
  ["in the last class", [0, 0, 0, 0, 0, 0, 0, 4], 1, 15_000],
])("a percentile of counted durations: %s", (_, counts, share, expected) => {
  expect(percentileMs(counts, share)).toBe(expected);
});
