import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { retryAfterMs } from "./retry-after.ts";

const NOW = new Date("2026-11-20T12:00:00.500Z");
const QUARTER_HOUR_MS = 900_000;

describe("Retry-After", () => {
  test.each<[string | undefined, number | null]>([
    ["1", 1_000],
    ["007", 7_000],
    ["900", QUARTER_HOUR_MS],
    ["901", QUARTER_HOUR_MS],
    ["9".repeat(400), QUARTER_HOUR_MS],
    ["Fri, 20 Nov 2026 12:00:30 GMT", 29_500],
    ["Sat, 20 Nov 2027 12:00:00 GMT", QUARTER_HOUR_MS],
    ["Fri, 20 Nov 2026 12:00:00 GMT", null],
    ["Fri, 99 Nov 2026 12:00:00 GMT", null],
    ["2026-11-20T12:00:30Z", null],
    ["0", null],
    ["-5", null],
    ["+5", null],
    ["1.5", null],
    ["1e9", null],
    ["0x10", null],
    ["5 s", null],
    ["5, 10", null],
    ["soon", null],
    ["", null],
    [undefined, null],
  ])("%p asks for %p ms", (header, ms) => {
    expect(retryAfterMs(header, NOW)).toBe(ms);
  });

  test("never asks for more than a quarter of an hour, whatever it says", () => {
    const headers = fc.oneof(
      fc.string(),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(headers, (header) => {
        const ms = retryAfterMs(header, NOW);
        expect(ms === null || (ms > 0 && ms <= QUARTER_HOUR_MS)).toBe(true);
      }),
    );
  });
});
