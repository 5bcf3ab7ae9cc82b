/** Where time comes from, so that a test can steer it. */
export interface Clock {
  /** The time of day. A service's is PostgreSQL's: see database-clock.ts. */
  now(): Date;
  /** Milliseconds since some moment in the past, for measuring durations. It never goes back. */
  monotonicMs(): number;
}

/** The time of day that this machine believes in, and its monotonic clock. */
export const machineClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };
