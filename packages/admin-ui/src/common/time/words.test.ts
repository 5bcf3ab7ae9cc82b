import { expect, test } from "@jest/globals";
import { formatsFor } from "../formats.ts";
import { ago, countdown, duration, exact } from "./words.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const secondsAgo = (seconds: number): number => now - seconds * 1_000;

test.each([
  [0, "just now"],
  [-3, "just now"],
  [4.9, "just now"],
  [5, "5 s ago"],
  [59, "59 s ago"],
  [60, "1 min ago"],
  [3_599, "59 min ago"],
  [3_600, "1 h ago"],
  [47 * 3_600, "47 h ago"],
  [48 * 3_600, "2 d ago"],
])("%d seconds back reads %s", (seconds, words) => {
  expect(ago(secondsAgo(seconds), now)).toBe(words);
});

test.each([
  [0, "due now"],
  [-10, "due now"],
  [0.2, "in 0:01"],
  [42, "in 0:42"],
  [60, "in 1:00"],
  [480, "in 8:00"],
  [7_300, "in 2 h"],
])("%d seconds ahead counts down as %s", (seconds, words) => {
  expect(countdown(now + seconds * 1_000, now)).toBe(words);
});

test("the exact time is told in UTC, whatever the browser's zone", () => {
  expect(exact("2026-11-20T14:03:22Z")).toBe("2026-11-20T14:03:22.000Z");
  expect(exact("2026-11-20T14:03:22.187+02:00")).toBe("2026-11-20T12:03:22.187Z");
});

test("a duration has the browser's decimal sign", () => {
  expect(duration(1_300, formatsFor(["de-DE"]))).toBe("1,3 s");
});

test.each([
  [84, "84 ms"],
  [999.4, "999 ms"],
  [1_300, "1.3 s"],
  [9_990, "10 s"],
  [15_000, "15 s"],
])("%d ms reads %s", (lengthMs, words) => {
  expect(duration(lengthMs)).toBe(words);
});
