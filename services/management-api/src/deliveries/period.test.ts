import { timeOf } from "@herald/common/database/ids";
import { expect, test } from "@jest/globals";
import { periodOf } from "./period.ts";

const DAY_MS = 86_400_000;
const from = "2026-03-10T00:00:00.000Z";
const to = "2026-03-11T00:00:00.000Z";

test("without times a period has no limit", () => {
  expect(periodOf({}, 7)).toEqual({ from: null, to: null, firstId: null, endId: null });
});

test("the ids of a period begin a window and a day before it, and end an hour after it and more", () => {
  const { firstId, endId, ...times } = periodOf({ from, to }, 7);
  expect(times).toEqual({ from: new Date(from), to: new Date(to) });
  expect(timeOf(firstId ?? "").getTime()).toBe(Date.parse(from) - 8 * DAY_MS);
  expect(timeOf(endId ?? "").getTime()).toBeGreaterThan(Date.parse(to) + 3_600_000);
});
