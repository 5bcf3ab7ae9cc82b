import { within } from "../runtime/deadline.ts";
import { atMostEach } from "../runtime/repeat.ts";

/** How long /metrics waits for what it reads, so that it answers within two seconds whatever a server does: the other figures matter most then. */
export const READING_MS = 1_500;

/** A reading that is older than this is not shown: it would mislead. */
const OLDEST_MS = 60_000;

/**
 * Reads figures for /metrics, for example from PostgreSQL. Scrapes within `lifeMs` share a reading, and at most one is under way. If it is late, the
 * one before is shown for a minute, so that a slow server's figures are late and not absent.
 *
 * @returns a function that answers the figures soon; undefined if they can't be read
 */
export function reading<T>(
  lifeMs: number,
  read: () => Promise<T>,
  { lateMs = READING_MS, onFailure = () => {} }: { lateMs?: number; onFailure?: (error: unknown) => void } = {},
): () => Promise<T | undefined> {
  let last: { begunAt: number; figures: T } | undefined;
  const latest = atMostEach(lifeMs, async () => {
    const begunAt = performance.now();
    try {
      last = { begunAt, figures: await read() };
    } catch (error) {
      last = undefined;
      onFailure(error);
    }
  });
  return async () => {
    await within(lateMs, latest(), undefined);
    return last && performance.now() - last.begunAt < OLDEST_MS ? last.figures : undefined;
  };
}
