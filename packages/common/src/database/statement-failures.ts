import { isConflict, isDataError, isTooMuch } from "./errors.ts";

export type StatementFailures = ReturnType<typeof statementFailures>;

/** Whether work goes on that must. */
export interface Progress {
  run<T>(part: () => Promise<T>): Promise<T>;
  /** For how long no part has succeeded while some were tried, in milliseconds; 0 if none is tried. */
  stalledMs(): number;
}

/** A statement that has not failed again within this time is not tried any more: longer than two tries that both get no answer. */
const FORGOTTEN_MS = 90_000;

/**
 * What fails for longer keeps its process from being ready. A part of some work that takes longer is not slow, but waits: for a lock of a whole
 * table, or for a commit.
 */
export const STALLED_MS = 10_000;

/**
 * Knows for how long a statement has failed again and again though nothing is wrong with it: PostgreSQL has no room, grants no right, is read-only, or
 * does not end a commit. Of work that must go on it also knows for how long it has waited for a lock, or has run out of time.
 */
export function statementFailures(monotonicMs = () => performance.now()) {
  /** By text: when the first try of the run began, and when the last one failed. */
  const failing = new Map<string, { sinceMs: number; lastMs: number }>();
  const all: Progress[] = [];

  function createProgress(): Progress {
    let running = 0;
    /** When the first try began that had no success after it, and when the last one failed. */
    let sinceMs: number | undefined;
    let lastMs = 0;
    const progress: Progress = {
      async run(part) {
        running++;
        sinceMs ??= monotonicMs();
        let isAnswered = true;
        try {
          return await part();
        } catch (error) {
          isAnswered = isDataError(error);
          throw error;
        } finally {
          running--;
          lastMs = monotonicMs();
          if (isAnswered) sinceMs = running > 0 ? lastMs : undefined;
        }
      },
      stalledMs() {
        const nowMs = monotonicMs();
        if (running === 0 && nowMs - lastMs > FORGOTTEN_MS) sinceMs = undefined;
        return sinceMs === undefined ? 0 : (running > 0 ? nowMs : lastMs) - sinceMs;
      },
    };
    all.push(progress);
    return progress;
  }

  return {
    async watch<T>(text: string, run: () => Promise<T>): Promise<T> {
      const begunMs = monotonicMs();
      try {
        const result = await run();
        failing.delete(text);
        return result;
      } catch (error) {
        if (!isDataError(error) && !isConflict(error) && !isTooMuch(error)) {
          failing.set(text, { sinceMs: failing.get(text)?.sinceMs ?? begunMs, lastMs: monotonicMs() });
        }
        throw error;
      }
    },
    createProgress,
    /** From the begin of the first failure to the last one, or for how long some work has waited, in seconds; 0 if nothing fails. */
    seconds(): number {
      for (const [text, { lastMs }] of failing) if (monotonicMs() - lastMs > FORGOTTEN_MS) failing.delete(text);
      const failed = [...failing.values()].map(({ sinceMs, lastMs }) => lastMs - sinceMs);
      const stalled = all.map((progress) => progress.stalledMs()).filter((ms) => ms >= STALLED_MS);
      return Math.max(0, ...failed, ...stalled) / 1_000;
    },
  };
}
