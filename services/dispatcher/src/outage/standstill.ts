import type { Log } from "@herald/common/telemetry/log";

const TICK_MS = 500;
/** A pause of V8's collector, or another process on the processor, is shorter. */
const STANDSTILL_MS = 1_000;

export type Standstill = ReturnType<typeof watchStandstill>;

/**
 * Knows whether this process stood still: it was stopped, its machine slept, was moved or had no processor for it.
 *
 * Reads two clocks twice a second. The monotonic clock does not count the time in which the machine slept, so the time of day is read too. If the
 * time of day was set forward by 1.5 s or more, that counts as a standstill too.
 */
export function watchStandstill(
  log: Log,
  monotonicMs: () => number = () => performance.now(),
  timeOfDayMs: () => number = Date.now,
) {
  let ticked = { atMs: monotonicMs(), dayMs: timeOfDayMs() };
  let endedMs = Number.NEGATIVE_INFINITY;

  function tick(): void {
    const now = { atMs: monotonicMs(), dayMs: timeOfDayMs() };
    const byMonotonicClockMs = Math.round(now.atMs - ticked.atMs);
    const byTimeOfDayMs = now.dayMs - ticked.dayMs;
    ticked = now;
    if (Math.max(byMonotonicClockMs, byTimeOfDayMs) < TICK_MS + STANDSTILL_MS) return;
    endedMs = now.atMs;
    const gap = { byMonotonicClockMs, byTimeOfDayMs };
    log.warn("this process stood still, or its clock was set: attempts that failed meanwhile are made again", gap);
  }

  const timer = setInterval(tick, TICK_MS).unref();
  return {
    /** Whether a standstill ended within the last `lastMs` milliseconds. One of 1.5 s or more is always noticed, one of less than 1 s never. */
    within(lastMs: number): boolean {
      // A timer of an attempt may be called before this one's, after the standstill.
      tick();
      return monotonicMs() - lastMs <= endedMs;
    },
    stop: () => clearInterval(timer),
  };
}
