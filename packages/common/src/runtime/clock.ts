/** Where time comes from, so that a test can steer it. */
export interface Clock {
  /** The time of day. It jumps when the machine's clock is set. */
  now(): Date;
  /** Milliseconds since some moment in the past, for measuring durations. It never goes back. */
  monotonicMs(): number;
}

export const systemClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };
