import { ConfigError } from "@herald/common/config/read-config";
import { SessionClient } from "@herald/common/database/client";
import { hostOf, reasonOf } from "@herald/common/security/connection-fault";
import { readCaFile } from "@herald/common/security/server-certificate";
import type { OutboxPool } from "@herald/emitter/outbox";
import { createPool, type SslOptions } from "mysql2/promise";
import pg from "pg";

/** A product service's database, which holds an outbox. */
interface OutboxDatabase {
  pool: OutboxPool;
  /** Rejects where the database can't be used. */
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

interface OutboxDatabaseOptions {
  url: string;
  onConnectionLost(error: Error): void;
}

/** The relay has one connection, readiness and metrics the others. */
const CONNECTIONS = 3;

const CONNECT_TIMEOUT_MS = 5_000;

const APPLICATION = "herald-relay";

/**
 * Opens the database that a URL is of, by its scheme. It need not be there yet.
 *
 * @throws ConfigError where the URL can't be used
 */
export function openOutboxDatabase(options: OutboxDatabaseOptions): OutboxDatabase {
  return isMysql(options.url) ? openMysql(options) : openPostgresql(options);
}

/** Runs a task on the database, and closes its connections afterwards. */
export async function withOutboxDatabase<T>(url: string, task: (pool: OutboxPool) => Promise<T>): Promise<T> {
  const database = openOutboxDatabase({ url, onConnectionLost: () => undefined });
  try {
    await database.ping().catch((cause) => {
      const name = isMysql(url) ? "MySQL" : "PostgreSQL";
      throw new Error(`${name} at ${hostOf(url)} can't be used: ${reasonOf(cause)}`, { cause });
    });
    return await task(database.pool);
  } finally {
    await database.close();
  }
}

function isMysql(url: string): boolean {
  return /^(mysql|mariadb):/.test(url);
}

/** Without it, a connection whose other end fell silent would hold the relay for as long as TCP keeps trying. */
const ANSWER_TIMEOUT_MS = 60_000;

/** It needs no setting of PostgreSQL, so that it works behind a pooler. */
function openPostgresql({ url, onConnectionLost }: OutboxDatabaseOptions): OutboxDatabase {
  const pool = new pg.Pool({
    Client: SessionClient,
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    application_name: APPLICATION,
  });
  pool.on("error", onConnectionLost);
  return { pool, ping: () => pool.query("select 1"), close: () => pool.end() };
}

/** Whatever the server's default is: the relay begins its transactions itself, and a statement outside of them ends at once. */
const SESSION = "set session autocommit = 1";

/**
 * The URL says of TLS the same as one of PostgreSQL does: `sslmode` and `sslrootcert`. Other parameters are refused, since mysql2 would take some
 * for options of its own.
 */
function openMysql({ url, onConnectionLost }: OutboxDatabaseOptions): OutboxDatabase {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const ssl = sslOf(searchParams);
  const pool = createPool({
    host: decodeURIComponent(hostname).replace(/^\[|\]$/g, ""),
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    ...(ssl && { ssl }),
    connectionLimit: CONNECTIONS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    connectAttributes: { program_name: APPLICATION },
  });
  // Of the pool inside, whose connections these are: the types of the outer one say otherwise.
  pool.pool.on("connection", (connection) => {
    connection.on("error", onConnectionLost);
    // A failure is the connection's too. Without a listener, the statement's own would end the process.
    connection.query(SESSION, () => undefined);
  });
  return { pool, ping: () => pool.query("select 1"), close: () => pool.end() };
}

/** As with pg, each mode that asks for TLS checks the certificate and its name. */
const CHECKED = ["require", "verify-ca", "verify-full"];

function sslOf(parameters: URLSearchParams): SslOptions | undefined {
  const { sslmode = "disable", sslrootcert, ...others } = Object.fromEntries(parameters);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new ConfigError([
      `OUTBOX_DATABASE_URL says ${unknown}; with mysql:// it can say sslmode and sslrootcert. Remove it.`,
    ]);
  }
  if (CHECKED.includes(sslmode)) {
    const ca = readCaFile("OUTBOX_DATABASE_URL (sslrootcert)", sslrootcert);
    return { rejectUnauthorized: true, verifyIdentity: true, ...(ca !== undefined && { ca }) };
  }
  if (sslmode === "disable" && sslrootcert === undefined) return undefined;
  throw new ConfigError([
    `OUTBOX_DATABASE_URL says sslmode=${sslmode}${sslrootcert === undefined ? "" : " and sslrootcert"}; with mysql:// it is ` +
      "sslmode=verify-full, or nothing for a connection without TLS.",
  ]);
}
