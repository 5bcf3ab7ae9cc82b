/** When failed deliveries are tried again (SPEC 8). */
export interface RetrySchedule {
  /** Attempts of a delivery at the most, the first one included: one more than there are delays. */
  maxAttempts: number;
  /**
   * When the delivery is due again after its `attempt`-th attempt (1 or more) ended; null when that was the last.
   *
   * @param retryAfterMs what the receiver asks for, if it does: it makes the delay longer, up to a quarter of an hour, and
   *   never shorter
   */
  nextAttemptAt(attempt: number, endedAt: Date, retryAfterMs?: number | null): Date | null;
}

/** No receiver can put a delivery off for longer, whatever it asks for. */
export const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** @param delaysMs the pause after the first failed attempt, after the second, ... in milliseconds */
export function retrySchedule(delaysMs: readonly number[]): RetrySchedule {
  return {
    maxAttempts: delaysMs.length + 1,
    nextAttemptAt(attempt, endedAt, retryAfterMs) {
      const delayMs = delaysMs[attempt - 1];
      if (delayMs === undefined) return null;
      const wishedMs = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
      return new Date(endedAt.getTime() + Math.max(delayMs, wishedMs));
    },
  };
}
