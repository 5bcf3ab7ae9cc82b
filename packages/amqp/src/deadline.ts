import { setTimeout as delay } from "node:timers/promises";

/** Waits for the work, but no longer than this. Whether it ended in time; a rejection counts as an end. */
export async function endsWithin(deadlineMs: number, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const late = delay(deadlineMs, false, { signal: timer.signal }).catch(() => false);
  const done = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([done, late]);
  } finally {
    timer.abort();
  }
}

/** Waits this long, or until the signal; never rejects. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  await delay(durationMs, undefined, { signal }).catch(() => undefined);
}
