export type RetrySchedule = ReturnType<typeof retrySchedule>;

/** No receiver can delay a delivery for longer, whatever it asks for. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/**
 * When failed deliveries are tried again (SPEC 8).
 *
 * @param delaysMs the pause after the first failed attempt, after the second, ... in milliseconds
 */
export function retrySchedule(delaysMs: readonly number[]) {
  return {
    /**
     * When the delivery is due again after its `attempt`-th attempt (1 or more) ended; null if that was the last.
     *
     * @param retryAfterMs the receiver's own wish, if any: it makes the delay longer, up to a quarter of an hour, and never shorter
     */
    nextAttemptAt(attempt: number, endedAt: Date, retryAfterMs?: number | null): Date | null {
      const delayMs = delaysMs[attempt - 1];
      if (delayMs === undefined) return null;
      const wishedMs = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
      return new Date(endedAt.getTime() + Math.max(delayMs, wishedMs));
    },
  };
}
