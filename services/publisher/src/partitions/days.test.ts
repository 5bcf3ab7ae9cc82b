import { expect, test } from "@jest/globals";
import { DAY_MS, daysToMake, endOf } from "./days.ts";

const NOW = new Date("2026-11-21T22:00:00Z");
const windowMs = 7 * DAY_MS;
const firstAndLast = (days: string[]) => [days[0], days.at(-1)];

test("days are made from a day before the window to eight days ahead, each once", () => {
  const days = daysToMake({ now: NOW, windowMs });
  expect(firstAndLast(days)).toEqual(["2026-11-13", "2026-11-29"]);
  expect(days).toHaveLength(17);
  expect(new Set(days).size).toBe(17);
});

test("no day is made that retention would drop at the same time", () => {
  for (const days of [0.01, 1, 7, 30]) {
    const window = days * DAY_MS;
    const [first = ""] = daysToMake({ now: NOW, windowMs: window });
    expect(endOf(first).getTime()).toBeGreaterThan(NOW.getTime() - window - DAY_MS);
  }
});
