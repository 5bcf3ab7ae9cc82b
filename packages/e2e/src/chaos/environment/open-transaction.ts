import pg from "pg";
import type { Servers } from "./servers.ts";

type Pause = (durationMs: number) => Promise<void>;

/** How long after PostgreSQL ended under it the other program comes again. */
const AGAIN_MS = 200;

/** Holds the row of the nth endpoint, as a psql does in which somebody forgot to commit. */
export function lockEndpoint(servers: Servers, place: number, durationMs: number, pause: Pause): Promise<void> {
  const lock = `select id from webhook_endpoint order by created_at, id
    offset ${place} % (select count(*) from webhook_endpoint) limit 1 for update`;
  return holdTransaction(servers, ["begin", lock], durationMs, pause);
}

/** Keeps a snapshot, as a dump or a report does: what dies meanwhile stays in the tables and their indexes. */
export function keepTransactionOpen(servers: Servers, durationMs: number, pause: Pause): Promise<void> {
  const begin = "begin isolation level repeatable read";
  return holdTransaction(servers, [begin, "select count(*) from webhook_endpoint"], durationMs, pause);
}

/** Past every link, and again wherever PostgreSQL has ended meanwhile. */
async function holdTransaction(servers: Servers, statements: string[], durationMs: number, pause: Pause) {
  const end = Date.now() + durationMs;
  while (Date.now() < end) {
    const client = new pg.Client({ connectionString: servers.databaseUrl().href, application_name: "herald-chaos" });
    const lost = new Promise<void>((resolve) => client.on("error", () => resolve()));
    try {
      await client.connect();
      for (const statement of statements) await client.query(statement);
      await Promise.race([lost, pause(end - Date.now())]);
    } catch {
      // PostgreSQL is away for a moment.
      await pause(AGAIN_MS);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
