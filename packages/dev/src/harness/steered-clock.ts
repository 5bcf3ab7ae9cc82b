export type SteeredClock = ReturnType<typeof steeredClock>;

/** A clock that stands still until the test moves it. */
export function steeredClock(start: Date | string = "2026-01-01T00:00:00.000Z") {
  let now = new Date(start).getTime();
  let monotonicMs = 0;
  return {
    now: () => new Date(now),
    monotonicMs: () => monotonicMs,
    advance: (ms: number) => {
      now += ms;
      monotonicMs += ms;
    },
    /** Sets the time, backwards too. */
    set: (time: Date) => {
      now = time.getTime();
    },
  };
}

/** The middle of the current hour: a few seconds more or less stay within the hour. */
export const middleOfHour = () => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 + 1_800_000);
