import { addressOf, SessionClient } from "@herald/common/database/client";
import { hostOf, reasonOf } from "@herald/common/security/connection-fault";
import type { Log } from "@herald/common/telemetry/log";
import pg from "pg";

/** The relay has one connection, readiness and metrics the others. */
const CONNECTIONS = 3;

const CONNECT_TIMEOUT_MS = 5_000;

/** Without it, a connection whose other end fell silent would hold the relay for as long as TCP keeps trying. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Opens a product service's database. It need not be there yet, and needs no setting of PostgreSQL, so that it works behind a pooler. */
export function openOutboxPool(url: string, onConnectionLost: (error: Error) => void, log?: Log): pg.Pool {
  const pool = new pg.Pool({
    Client: SessionClient,
    ...addressOf(url, undefined, { log, urlSetting: "OUTBOX_DATABASE_URL" }),
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    application_name: "herald-relay",
  });
  pool.on("error", onConnectionLost);
  return pool;
}

/** Runs a task on the database, and closes its connections afterwards. */
export async function withOutboxPool<T>(url: string, task: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = openOutboxPool(url, () => undefined);
  try {
    await pool.query("select 1").catch((cause) => {
      throw new Error(`PostgreSQL at ${hostOf(url)} can't be used: ${reasonOf(cause)}`, { cause });
    });
    return await task(pool);
  } finally {
    await pool.end();
  }
}
