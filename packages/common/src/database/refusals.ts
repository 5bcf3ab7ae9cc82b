import pg from "pg";

/** While connections are few, some tries succeed. */
const QUIET_MS = 5_000;
/** A process that has no need of a new connection does not try again. */
const FORGOTTEN_MS = 60_000;

/** Knows whether PostgreSQL refuses new connections, as if it has none left. Statements may go on over those that are open. */
export function createRefusals(monotonicMs = () => performance.now()) {
  let last: { error: Error; atMs: number; isConnectedSince: boolean } | undefined;
  return {
    /** A connection could not be opened. Only PostgreSQL's own errors count: a ping has the others too. */
    failed(error: Error): void {
      if (error instanceof pg.DatabaseError) last = { error, atMs: monotonicMs(), isConnectedSince: false };
    },
    connected(): void {
      if (last) last.isConnectedSince = true;
    },
    /** The last refusal; undefined once connections have been opened for a while. */
    latest(): Error | undefined {
      if (last && monotonicMs() - last.atMs >= (last.isConnectedSince ? QUIET_MS : FORGOTTEN_MS)) last = undefined;
      return last?.error;
    },
  };
}
