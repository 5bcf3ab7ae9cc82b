import { isConflict, isDataError, isTooMuch } from "./errors.ts";

export type StatementFailures = ReturnType<typeof statementFailures>;

/** A statement that has not failed again within this time is not tried any more: longer than two tries that both get no answer. */
const FORGOTTEN_MS = 90_000;

/**
 * Knows for how long a statement has failed again and again though nothing is wrong with it: PostgreSQL has no room, grants no right, is read-only, or
 * does not end a commit.
 *
 * @param monotonicMs a test's clock
 */
export function statementFailures(monotonicMs = () => performance.now()) {
  /** By text: when the first try of the run began, and when the last one failed. */
  const failing = new Map<string, { sinceMs: number; lastMs: number }>();
  return {
    /** Runs a statement. */
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
    /** From the begin of the first failure to the last one, in seconds; 0 if no statement fails. */
    seconds(): number {
      for (const [text, { lastMs }] of failing) if (monotonicMs() - lastMs > FORGOTTEN_MS) failing.delete(text);
      return Math.max(0, ...[...failing.values()].map(({ sinceMs, lastMs }) => (lastMs - sinceMs) / 1_000));
    },
  };
}
