export type RetrySchedule = ReturnType<typeof retrySchedule>;

/** No receiver can delay its deliveries for longer, whatever it asks for: a mistake in its header would delay them for days. */
export const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** A time may be further ahead than the longest wait by this much: attempts overlap, and two processes' clocks differ. */
const OVERLAP_MS = 2 * 60_000;

/** No pause is further ahead. */
export const FARTHEST_PAUSE_MS = MAX_RETRY_AFTER_MS + OVERLAP_MS;

/** Gives the delays after a delivery's first failed attempt, after the second, ... (SPEC 8). */
export function retrySchedule(delaysMs: readonly number[]) {
  const farthestMs = Math.max(...delaysMs, MAX_RETRY_AFTER_MS) + OVERLAP_MS;
  return {
    latestDue: (now: Date) => new Date(now.getTime() + farthestMs),
    /**
     * When the delivery is due again after its `attempt`-th attempt (1 or more) ended; null if that was the last. `retryAfterMs` is the receiver's
     * wish: it makes the delay longer, and never shorter.
     */
    nextAttemptAt(attempt: number, endedAt: Date, retryAfterMs?: number | null): Date | null {
      const delayMs = delaysMs[attempt - 1];
      if (delayMs === undefined) return null;
      return new Date(endedAt.getTime() + Math.max(delayMs, retryAfterMs ?? 0));
    },
  };
}
