import { expect, test } from "@jest/globals";
import { DAY_MS, daysToMake, endOf } from "./days.ts";

const NOW = new Date("2026-11-21T22:00:00Z");
const daysLater = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
const windowMs = 7 * DAY_MS;
const firstAndLast = (days: string[]) => [days[0], days.at(-1)];

test("days are made from a day before the window to eight days ahead, each once", () => {
  const days = daysToMake({ now: NOW, serverNow: NOW, windowMs });
  expect(firstAndLast(days)).toEqual(["2026-11-13", "2026-11-29"]);
  expect(days).toHaveLength(17);
  expect(new Set(days).size).toBe(17);
});

test("a clock that is some days off makes the days that it needs", () => {
  const days = daysToMake({ now: daysLater(3), serverNow: NOW, windowMs });
  expect(firstAndLast(days)).toEqual(["2026-11-16", "2026-12-02"]);
});

test.each([
  ["this process's", { now: new Date("2099-01-01T00:00:00Z"), serverNow: NOW }],
  ["this process's", { now: new Date(0), serverNow: NOW }],
  ["PostgreSQL's", { now: NOW, serverNow: new Date("2099-01-01T00:00:00Z") }],
])("where %s clock is wrong no day is made", (_whose, clocks) => {
  expect(daysToMake({ ...clocks, windowMs })).toEqual([]);
});

test("no day is made that retention would drop at the same time", () => {
  for (const days of [0.01, 1, 7, 30]) {
    const window = days * DAY_MS;
    const [first = ""] = daysToMake({ now: NOW, serverNow: NOW, windowMs: window });
    expect(endOf(first).getTime()).toBeGreaterThan(NOW.getTime() - window - DAY_MS);
  }
});
