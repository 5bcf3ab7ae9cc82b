/** Where time comes from, so that a test can steer it. */
export interface Clock {
  /** The time of day. A service's is PostgreSQL's: see database-clock.ts. */
  now(): Date;
  /** Milliseconds since some moment in the past, for measuring durations. It never goes back. */
  monotonicMs(): number;
  /** How far the machine's time of day is ahead of `now()`, in milliseconds, as far as that is certain; absent if `now()` is the machine's. */
  machineAheadMs?(): number;
}

/** The time of day that this machine believes in, and its monotonic clock. */
export const machineClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };
