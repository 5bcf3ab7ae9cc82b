import type { HourOfDeliveries } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { formats } from "../formats.ts";
import { barPaths, countedPeriod, dayInWords, sumHours } from "./hours.ts";

const hour = (counts: Partial<HourOfDeliveries>): HourOfDeliveries => ({
  startUtc: "2026-11-20T12:00:00Z",
  succeeded: 0,
  waiting: 0,
  failing: 0,
  exhausted: 0,
  ...counts,
});

test("a day is told in words, without what is none", () => {
  expect(dayInWords(sumHours([hour({ succeeded: 1_300 }), hour({ failing: 2, exhausted: 1 })]))).toBe(
    "1,303 deliveries in the last 24 hours: 1,300 succeeded, 2 failing, 1 exhausted",
  );
  expect(dayInWords(sumHours([hour({ waiting: 1 })]))).toBe("1 delivery in the last 24 hours: 1 waiting");
  expect(dayInWords(sumHours([hour({})]))).toBe("No deliveries in the last 24 hours");
});

test("successes stand on the base line, failures hang below it", () => {
  const { succeeded, failed, baseY } = barPaths([hour({ succeeded: 9 }), hour({ failing: 1 })], 20, 21);
  expect(baseY).toBe(15);
  expect(succeeded).toBe("M0 0h9v15h-9z");
  expect(failed).toBe("M10 16h9v5h-9z");
});

test("an empty day draws nothing", () => {
  expect(barPaths([hour({}), hour({})], 20, 20)).toMatchObject({ succeeded: "", waiting: "", failed: "" });
});

test("a day with more deliveries than are counted says since when they are", () => {
  const hours = [hour({}), hour({ startUtc: "2026-11-20T13:00:00Z", succeeded: 2_000 })];
  expect(countedPeriod(hours, "2026-11-20T12:00:00Z")).toBe("in the last 24 hours");
  expect(dayInWords(sumHours(hours), countedPeriod(hours, "2026-11-20T13:05:00Z"))).toBe(
    `2,000 deliveries since ${formats.dateTime("2026-11-20T13:05:00Z")}, the newest of the day: 2,000 succeeded`,
  );
});
