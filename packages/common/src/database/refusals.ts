import pg from "pg";

export type Refusals = ReturnType<typeof createRefusals>;

/** While connections are few, some tries succeed. */
const QUIET_MS = 5_000;
/** A process that has no need of a new connection does not try again. */
const FORGOTTEN_MS = 60_000;

/**
 * Knows whether PostgreSQL refuses new connections, as if it has none left. It may go on to carry out statements over those that are open.
 *
 * @param monotonicMs a test's clock
 */
export function createRefusals(monotonicMs = () => performance.now()) {
  let last: { error: Error; atMs: number } | undefined;
  let isConnectedSince = false;
  return {
    /** A connection could not be opened. */
    failed(error: Error): void {
      // Other errors are not PostgreSQL's, and a ping has them too.
      if (!(error instanceof pg.DatabaseError)) return;
      last = { error, atMs: monotonicMs() };
      isConnectedSince = false;
    },
    connected(): void {
      isConnectedSince = true;
    },
    /** The last refusal; undefined once connections have been opened for a while. */
    latest(): Error | undefined {
      if (last && monotonicMs() - last.atMs >= (isConnectedSince ? QUIET_MS : FORGOTTEN_MS)) last = undefined;
      return last?.error;
    },
  };
}
