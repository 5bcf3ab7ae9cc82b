import { setTimeout as sleep } from "node:timers/promises";

export interface RetryOptions {
  /** Whether another try can succeed after this error; else it is thrown at once. */
  shouldRetry: (error: unknown) => boolean;
  /** Called for the first failure only, so that an outage is logged once. */
  onFirstFailure: (error: unknown) => void;
  /** Ends the waiting: the latest error is thrown. */
  signal: AbortSignal;
  firstDelayMs?: number;
  maxDelayMs?: number;
}

/**
 * Runs a task until it succeeds, with growing pauses between the tries. Their length is random, by up to a half: of several
 * processes that try the same, it is not always the same one that comes first.
 */
export async function retry<T>(
  task: () => Promise<T>,
  { shouldRetry, onFirstFailure, signal, firstDelayMs = 100, maxDelayMs = 2_000 }: RetryOptions,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await task();
    } catch (error) {
      if (signal.aborted || !shouldRetry(error)) throw error;
      if (failures === 0) onFirstFailure(error);
      const delayMs = Math.min(firstDelayMs * 2 ** failures, maxDelayMs) * (0.5 + Math.random() / 2);
      await sleep(delayMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) throw error;
    }
  }
}
