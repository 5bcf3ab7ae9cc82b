import { expect, test } from "@jest/globals";
import type { Partition } from "../sql/partitions.ts";
import { DAY_MS, missingPartitions, startOf } from "./partitions.ts";

const NOW = new Date("2026-11-21T22:00:00Z");
const WINDOW_MS = 7 * DAY_MS;
const later = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
const missing = (there: Partition[], keptDays: number, now = NOW) =>
  missingPartitions(there, { now, windowMs: WINDOW_MS, keepMs: keptDays * DAY_MS });

test("days are made from a day before the window to eight days ahead, each once", () => {
  const made = missing([], 30);
  expect([made[0], made.at(-1)]).toEqual([
    { first: "2026-11-13", end: "2026-11-14" },
    { first: "2026-11-29", end: "2026-11-30" },
  ]);
  expect(made).toHaveLength(17);
  expect(missing(made, 30)).toEqual([]);
});

test("no partition is made that retention would drop at the same time", () => {
  for (const days of [0.01, 1, 7, 30]) {
    const windowMs = days * DAY_MS;
    const [first] = missingPartitions([], { now: NOW, windowMs, keepMs: windowMs + DAY_MS });
    expect(startOf(first?.end ?? "").getTime()).toBeGreaterThan(NOW.getTime() - windowMs - DAY_MS);
  }
});

test.each([
  [30, 1, 41],
  [45, 1, 56],
  [46, 2, 29],
  [365, 9, 44],
  [740, 17, 47],
  [36_500, 812, 48],
])("a retention of %d days makes partitions of %d days, and never more than %d of them", (keptDays, span, most) => {
  let there: Partition[] = [];
  let highest = 0;
  for (let day = 0; day < 2 * keptDays; day++) {
    const now = later(day);
    const made = missing(there, keptDays, now);
    for (const { first, end } of made) {
      expect(startOf(end).getTime() - startOf(first).getTime()).toBe(span * DAY_MS);
    }
    const keptFrom = later(day - keptDays);
    there = [...there, ...made].filter(({ end }) => startOf(end) > keptFrom);
    highest = Math.max(highest, there.length);
  }
  expect(highest).toBeLessThanOrEqual(most);
});

test("the next partition begins where the last one ends, also if it has another length", () => {
  const there = missing([], 30);
  expect(missing(there, 740, later(1))).toEqual([{ first: "2026-11-30", end: "2026-12-17" }]);
  expect(missing([{ first: "2026-11-01", end: "2026-11-28" }], 30)).toEqual([
    { first: "2026-11-28", end: "2026-11-29" },
    { first: "2026-11-29", end: "2026-11-30" },
  ]);
});

test("a partition that fills a gap ends where the next one begins", () => {
  const there = [
    { first: "2026-11-20", end: "2026-11-22" },
    { first: "2026-11-10", end: "2026-11-15" },
  ];
  expect(missing(there, 740)).toEqual([
    { first: "2026-11-15", end: "2026-11-20" },
    { first: "2026-11-22", end: "2026-12-09" },
  ]);
});
