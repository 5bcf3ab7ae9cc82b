import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import { PrismaClient } from "./generated/client.ts";
import { directQueries, type Queries } from "./queries.ts";

export interface DatabaseOptions {
  /** Connections at most, shared by everything in the process. */
  poolSize?: number;
  /** How long a query waits for a free or new connection before it fails, in milliseconds. */
  connectTimeoutMs?: number;
  /**
   * How long PostgreSQL lets one statement run, in milliseconds. Its answer is waited for a moment longer; then the
   * statement fails here and its connection is given up.
   */
  statementTimeoutMs?: number;
  /** What `pg_stat_activity` shows for these connections. */
  applicationName?: string;
  /** Told when an idle connection breaks. The pool replaces it by itself, so this is for the log. */
  onConnectionLost?: (error: Error) => void;
}

export interface Database {
  /** For everything but the hot statements. Takes memory and CPU with its first query, so a process may do without. */
  readonly prisma: PrismaClient;
  /** The hot statements' way to PostgreSQL, over the same connections. */
  readonly queries: Queries;
  /** One round trip to PostgreSQL; rejects where there is none. */
  ping(): Promise<void>;
  /** Lets running queries finish and closes every connection. Closing again does nothing. */
  close(): Promise<void>;
}

/** Distinct statements that a connection keeps prepared. The hot ones are a dozen; the rest is CRUD of varying shape. */
const MAX_PREPARED_STATEMENTS = 200;

/**
 * How much longer than PostgreSQL's own limit an answer is waited for. Without any limit here, a connection whose other end is
 * gone without a word (a machine that lost its power, a firewall that forgot) holds its statement, and all that waits behind
 * it, for the quarter of an hour that TCP keeps trying.
 */
const ANSWER_GRACE_MS = 2_000;

/**
 * Opens a pool on a PostgreSQL database, with Prisma in front. Connects with the first query, so it returns at once
 * also when PostgreSQL is not there yet.
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000;
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + ANSWER_GRACE_MS,
    application_name: options.applicationName ?? "herald",
    // A page by an index costs hardly more than the next one, on any disk of these days; PostgreSQL's own guess of 4 makes it
    // read whole tables where a few hundred rows are wanted.
    options: "-c random_page_cost=1.1",
  });
  const connectionLost = (error: Error) => options.onConnectionLost?.(error);
  pool.on("error", connectionLost);
  const statementName = preparedStatementNames();
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, {
      statementNameGenerator: ({ sql }) => statementName(sql),
      onConnectionError: connectionLost,
    }),
  });
  return {
    prisma,
    queries: directQueries(pool, statementName),
    ping: async () => {
      await pool.query("SELECT 1");
    },
    close: async () => {
      await prisma.$disconnect();
      if (!pool.ending) await pool.end();
    },
  };
}

/**
 * Names statements by their text, so that PostgreSQL parses and plans a hot one once a connection. Texts beyond the
 * limit stay unnamed, since a prepared statement lives as long as its connection.
 */
function preparedStatementNames(): (sql: string) => string {
  const names = new Map<string, string>();
  return (sql) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_PREPARED_STATEMENTS) return "";
    const name = `herald_${names.size}`;
    names.set(sql, name);
    return name;
  };
}
