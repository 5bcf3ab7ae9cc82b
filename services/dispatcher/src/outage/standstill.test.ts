import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { SILENT } from "../../test/basics.ts";
import { watchStandstill } from "./standstill.ts";

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

/** A process whose clocks go on while its timers stand still. */
function processOf() {
  const skipped = { monotonic: 0, day: 0 };
  const warn = jest.fn();
  const standstill = watchStandstill(
    { ...SILENT, warn },
    () => performance.now() + skipped.monotonic,
    () => Date.now() + skipped.day,
  );
  return { standstill, skipped, warn };
}

test("a process whose timers are called in time has not stood still", () => {
  const { standstill, warn } = processOf();
  jest.advanceTimersByTime(60_000);
  expect(standstill.within(60_000)).toBe(false);
  expect(warn).not.toHaveBeenCalled();
  standstill.stop();
});

test.each([
  ["was stopped", { monotonic: 17_000, day: 17_000 }],
  ["slept with its machine", { monotonic: 0, day: 17_000 }],
  ["had no processor for two seconds", { monotonic: 2_000, day: 2_000 }],
])("a process that %s stood still, for what began before that, whichever timer is called first", (_what, skip) => {
  const { standstill, skipped, warn } = processOf();
  jest.advanceTimersByTime(10_250);
  Object.assign(skipped, skip);
  expect(standstill.within(100)).toBe(true);
  jest.advanceTimersByTime(5_000);
  expect(standstill.within(6_000)).toBe(true);
  expect(standstill.within(4_000)).toBe(false);
  const gap = { byMonotonicClockMs: 250 + skip.monotonic, byTimeOfDayMs: 250 + skip.day };
  expect(warn.mock.calls).toEqual([[expect.stringContaining("stood still"), gap]]);
  standstill.stop();
});

test.each([
  ["is late by half a second, as beside a collection of garbage", { monotonic: 500, day: 500 }],
  ["learns that its time of day was set back", { monotonic: 0, day: -3_600_000 }],
])("a process that %s has not stood still", (_what, skip) => {
  const { standstill, skipped } = processOf();
  jest.advanceTimersByTime(10_000);
  Object.assign(skipped, skip);
  jest.advanceTimersByTime(5_000);
  expect(standstill.within(60_000)).toBe(false);
  standstill.stop();
});
