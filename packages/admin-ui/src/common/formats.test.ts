import { expect, test } from "@jest/globals";
import { ago, countdown, duration, exact, formatsFor } from "./formats.ts";

const english = formatsFor(["en-US"], "America/New_York");
const german = formatsFor(["de-DE", "en"], "Europe/Berlin");
const iso = "2026-11-20T14:03:22.187Z";
/** Some editions of the Unicode data have a narrow no-break space before "PM". */
const plain = (text: string) => text.replace(/\s/g, " ");

test("numbers are written as the browser's language has them", () => {
  expect([english.number(12_345), german.number(12_345)]).toEqual(["12,345", "12.345"]);
  expect([english.decimal(1.25), german.decimal(2)]).toEqual(["1.3", "2,0"]);
});

test("a moment is written as the browser's language has it, in the browser's zone, with the offset", () => {
  expect(plain(english.dateTime(iso))).toBe("11/20/2026, 9:03:22 AM GMT-5");
  expect(plain(german.dateTime(iso))).toBe("20.11.2026, 15:03:22 GMT+1");
  expect(plain(german.dateTime(iso, { milliseconds: true }))).toBe("20.11.2026, 15:03:22,187 GMT+1");
});

test("the hours and days of charts are those of the browser's zone, as all times of the page", () => {
  expect(plain(english.hour(Date.parse(iso)))).toBe("9:03 AM");
  expect(german.hour(Date.parse(iso))).toBe("15:03");
  const late = Date.parse("2026-11-20T23:03:22Z");
  expect([english.day(late), german.day(late)]).toEqual(["11/20", "21.11."]);
});

test.each([[[]], [["en-US@posix", "C"]], [["C", "de-DE"]]])(
  "a browser that names the languages %j has formats",
  (languages) => {
    expect(formatsFor(languages).number(7)).toBe("7");
  },
);

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
  [0.2, "in 1 s"],
  [42, "in 42 s"],
  [60, "in 1:00"],
  [480, "in 8:00"],
  [7_300, "in 2 h"],
])("%d seconds ahead counts down as %s", (seconds, words) => {
  expect(countdown(now + seconds * 1_000, now)).toBe(words);
});

test("the exact time is in UTC, whatever the browser's zone", () => {
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
