import { expect, test } from "@jest/globals";
import { retrySchedule } from "./retry-schedule.ts";

const MINUTE_MS = 60_000;
const schedule = retrySchedule([1, 2, 4, 8].map((minutes) => minutes * MINUTE_MS));

test("§8/delays a delivery has five attempts, 1, 2, 4 and 8 minutes after the preceding one", () => {
  const endedAt = new Date("2026-03-01T12:00:00.250Z");
  expect(schedule.maxAttempts).toBe(5);
  expect([1, 2, 3, 4].map((attempt) => schedule.nextAttemptAt(attempt, endedAt)?.toISOString())).toEqual([
    "2026-03-01T12:01:00.250Z",
    "2026-03-01T12:02:00.250Z",
    "2026-03-01T12:04:00.250Z",
    "2026-03-01T12:08:00.250Z",
  ]);
});

test("§3.2/exhausted there is no attempt after the fifth", () => {
  expect(schedule.nextAttemptAt(5, new Date())).toBeNull();
});
