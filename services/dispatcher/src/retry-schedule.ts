/** When failed deliveries are tried again (SPEC 8). */
export interface RetrySchedule {
  /** Attempts of a delivery at the most, the first one included: one more than there are delays. */
  maxAttempts: number;
  /** When the delivery is due again after its `attempt`-th attempt (1 or more) ended; null when that was the last. */
  nextAttemptAt(attempt: number, endedAt: Date): Date | null;
}

/** @param delaysMs the pause after the first failed attempt, after the second, ... in milliseconds */
export function retrySchedule(delaysMs: readonly number[]): RetrySchedule {
  return {
    maxAttempts: delaysMs.length + 1,
    nextAttemptAt(attempt, endedAt) {
      const delayMs = delaysMs[attempt - 1];
      return delayMs === undefined ? null : new Date(endedAt.getTime() + delayMs);
    },
  };
}
