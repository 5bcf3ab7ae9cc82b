import type { Clock } from "@herald/common/runtime/clock";

export interface SteeredClock extends Clock {
  /** Moves time forward by this many milliseconds. */
  advance(ms: number): void;
  /** Sets the time, backwards too. */
  set(time: Date): void;
}

/** A clock that stands still until the test moves it. */
export function steeredClock(start: Date | string = "2026-01-01T00:00:00.000Z"): SteeredClock {
  let now = new Date(start).getTime();
  let monotonicMs = 0;
  return {
    now: () => new Date(now),
    monotonicMs: () => monotonicMs,
    advance: (ms) => {
      now += ms;
      monotonicMs += ms;
    },
    set: (time) => {
      now = time.getTime();
    },
  };
}

/** The middle of the current hour: a few seconds more or less stay within the hour. */
export const middleOfHour = () => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 + 1_800_000);
