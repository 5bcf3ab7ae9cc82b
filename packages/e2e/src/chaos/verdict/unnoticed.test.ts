import { describe, expect, test } from "@jest/globals";
import { courseOf, longestPauseAfter } from "./unnoticed.ts";

test("the longest pause is sought from the event on, whatever the order, and ends with the next arrival", () => {
  expect(longestPauseAfter([900, 1_200, 50, 3_200, 3_300], 1_000, 3_000)).toBe(2_000);
  expect(longestPauseAfter([1_100, 1_200, 1_300, 9_000], 1_000, 1_250)).toBe(100);
});

test("a pause that never ends lasts until the end", () => {
  expect(longestPauseAfter([500], 1_000, 3_000)).toBe(2_000);
  expect(longestPauseAfter([1_500], 1_000, 3_000)).toBe(1_500);
});

describe("a figure over the time of a run", () => {
  test("is told by its quarters", () => {
    expect(courseOf([1, 2, 3, 4, 5, 6, 7, 8], 0)).toMatchObject({ quarters: [1.5, 3.5, 5.5, 7.5], highest: 8 });
  });

  test("may grow while it warms up, and wobble afterwards", () => {
    expect(courseOf([20, 60, 100, 104, 98, 110, 101, 107], 0).flat).toBe(true);
  });

  test("is not flat when it ends a tenth above where it had warmed up to", () => {
    expect(courseOf([20, 60, 100, 104, 110, 112, 114, 116], 0).flat).toBe(false);
    expect(courseOf([0, 0, 0, 0, 1, 1, 2, 2], 1).flat).toBe(false);
  });

  test("may grow by its tolerance where a tenth is nothing", () => {
    expect(courseOf([0, 0, 0, 0, 1, 0, 1, 1], 1).flat).toBe(true);
  });
});
