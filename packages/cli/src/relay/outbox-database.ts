import pg from "pg";
import { hostOf, reasonOf } from "../database.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/** Without it, a connection whose other end fell silent would hold the relay for as long as TCP keeps trying. */
const ANSWER_TIMEOUT_MS = 60_000;

/** A pool on a product service's database. It needs no setting of PostgreSQL, so that it works behind a pooler. */
export function openOutboxDatabase(url: string, onConnectionLost: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    // The relay has one, readiness and metrics the others.
    max: 3,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    application_name: "herald-relay",
  });
  pool.on("error", onConnectionLost);
  return pool;
}

/** Runs a task on the database, and closes its connections afterwards. */
export async function withOutboxDatabase<T>(url: string, task: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = openOutboxDatabase(url, () => undefined);
  try {
    await pool.query("select 1").catch((cause) => {
      throw new Error(`PostgreSQL at ${hostOf(url)} can't be used: ${reasonOf(cause)}`, { cause });
    });
    return await task(pool);
  } finally {
    await pool.end();
  }
}
