import { ConfigError } from "@herald/common/config/read-config";
import { readCaFile } from "@herald/common/security/server-certificate";
import { createPool, type SslOptions } from "mysql2/promise";
import {
  APPLICATION,
  CONNECT_TIMEOUT_MS,
  CONNECTIONS,
  type OutboxDatabase,
  type OutboxDatabaseOptions,
} from "./outbox-database.ts";

/** Whatever the server's default is: the relay begins its transactions itself, and a statement outside of them ends at once. */
const SESSION = "set session autocommit = 1";

/**
 * The URL says of TLS the same as one of PostgreSQL does: `sslmode` and `sslrootcert`. Other parameters are refused, since mysql2 would take some
 * for options of its own.
 */
export function openMysql({ url, onConnectionLost }: OutboxDatabaseOptions): OutboxDatabase {
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
