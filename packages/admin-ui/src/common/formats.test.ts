import { expect, test } from "@jest/globals";
import { formatsFor } from "./formats.ts";

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
  expect([english.day(Date.parse("2026-11-20T23:03:22Z")), german.day(Date.parse("2026-11-20T23:03:22Z"))]).toEqual([
    "11/20",
    "21.11.",
  ]);
});

test("a browser that names no language gets those of its system", () => {
  expect(formatsFor([]).number(7)).toBe("7");
});
