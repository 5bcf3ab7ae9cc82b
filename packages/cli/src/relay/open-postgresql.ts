import pg from "pg";
import {
  APPLICATION,
  CONNECT_TIMEOUT_MS,
  CONNECTIONS,
  type OutboxDatabase,
  type OutboxDatabaseOptions,
} from "./outbox-database.ts";

/** Without it, a connection whose other end fell silent would hold the relay for as long as TCP keeps trying. */
const ANSWER_TIMEOUT_MS = 60_000;

/** It needs no setting of PostgreSQL, so that it works behind a pooler. */
export function openPostgresql({ url, onConnectionLost }: OutboxDatabaseOptions): OutboxDatabase {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    application_name: APPLICATION,
  });
  pool.on("error", onConnectionLost);
  return { pool, ping: () => pool.query("select 1"), close: () => pool.end() };
}
