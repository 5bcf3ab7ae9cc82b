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

test("a receiver that asks for it makes the delay longer, up to fifteen minutes, and never shorter", () => {
  const endedAt = new Date("2026-03-01T12:00:00.000Z");
  const at = (attempt: number, retryAfterMs: number) =>
    schedule.nextAttemptAt(attempt, endedAt, retryAfterMs)?.toISOString();
  expect(at(1, 5 * MINUTE_MS)).toBe("2026-03-01T12:05:00.000Z");
  expect(at(1, 5_000)).toBe("2026-03-01T12:01:00.000Z");
  expect(at(4, 5 * MINUTE_MS)).toBe("2026-03-01T12:08:00.000Z");
  expect(at(1, 60 * MINUTE_MS)).toBe("2026-03-01T12:15:00.000Z");
  expect(at(5, 5 * MINUTE_MS)).toBeUndefined();
});
