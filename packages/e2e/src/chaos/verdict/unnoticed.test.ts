import { expect, test } from "@jest/globals";
import { longestPauseAfter } from "./unnoticed.ts";

test("the longest pause is sought from the event on, whatever the order, and ends with the next arrival", () => {
  expect(longestPauseAfter([900, 1_200, 50, 3_200, 3_300], 1_000, 3_000)).toBe(2_000);
  expect(longestPauseAfter([1_100, 1_200, 1_300, 9_000], 1_000, 1_250)).toBe(100);
});

test("a pause that never ends lasts until the end", () => {
  expect(longestPauseAfter([500], 1_000, 3_000)).toBe(2_000);
  expect(longestPauseAfter([1_500], 1_000, 3_000)).toBe(1_500);
});
