import { setTimeout as delay } from "node:timers/promises";

/** Twice as long after each failure in a row, up to a limit; varied by a fifth, so that clients that failed together do not come back together. */
export function backoffMs(
  failures: number,
  { firstMs, longestMs }: { firstMs: number; longestMs: number },
  random = Math.random,
): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1)) * (0.8 + 0.4 * random());
}

/** Waits for the work, but no longer than the deadline. Returns whether it ended in time; a rejection counts as an end. */
export async function endsWithin(deadlineMs: number, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const late = pause(deadlineMs, timer.signal).then(() => false);
  const done = Promise.allSettled([work]).then(() => true);
  return await Promise.race([done, late]).finally(() => timer.abort());
}

/** Waits this long, or until the signal aborts. Never rejects. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  await delay(durationMs, undefined, { signal }).catch(() => undefined);
}
