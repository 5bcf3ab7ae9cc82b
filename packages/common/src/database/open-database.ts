import { createHash } from "node:crypto";
import type { EventEmitter } from "node:events";
import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import type { Clock } from "../runtime/clock.ts";
import { atMostEach } from "../runtime/repeat.ts";
import type { TlsFiles } from "../security/tls-files.ts";
import { type Address, addressOf, Client, preparesStatements } from "./client.ts";
import { createDatabaseClock, type TimeReading } from "./database-clock.ts";
import { STATEMENT_TIMEOUT_MS } from "./database-defaults.ts";
import { isStatementLost, READ_ONLY } from "./errors.ts";
import { PrismaClient } from "./generated/client.ts";
import { boundedReads, directQueries } from "./queries.ts";
import { createRefusals } from "./refusals.ts";
import { statementFailures } from "./statement-failures.ts";

export interface DatabaseOptions {
  /** PEM file of the authorities that the server's certificate may come from; with it TLS is required and checked. */
  caFile?: string | undefined;
  log?: TlsFiles["log"];
  /** The largest number of connections, shared by everything in the process. */
  poolSize?: number;
  /**
   * How long PostgreSQL lets one statement run, in milliseconds: the same value that `migrate` was given. This process waits a moment longer for
   * the answer; then the statement fails here and its connection is closed.
   */
  statementTimeoutMs?: number;
  applicationName?: string;
  /** Called when an idle connection breaks. The pool replaces it by itself, so this is for the log. */
  onConnectionLost?: (error: Error) => void;
  /** Called when a pooler has lost a prepared statement. From then on statements fail at random; {@link KEEP_STATEMENTS} is the remedy. */
  onStatementLost?: () => void;
}

export const KEEP_STATEMENTS =
  "Add pgbouncer=true to the query of DATABASE_URL, that of herald migrate too, and run herald migrate; or in PgBouncer 1.21 or newer " +
  "set max_prepared_statements = 200.";

export type Database = ReturnType<typeof openDatabase>;

/** How long a query waits for a free or new connection before it fails. */
const CONNECT_TIMEOUT_MS = 5_000;

/** How often PostgreSQL is pinged, at most: many clients may ask for readiness or /metrics. Each ping also renews PostgreSQL's time. */
const PING_MS = 1_000;

/** When a connection that gets no answer is given up. The next ping has a new one, and a stop waits no longer for this one. */
const PING_TIMEOUT_MS = 5_000;

/** Distinct statements that are prepared under a name. The hot ones are a dozen for each day of deliveries (days.ts); the rest is CRUD of varying shape. */
const MAX_PREPARED_STATEMENTS = 200;

/** PostgreSQL keeps what a connection has prepared, also for days that are over, as long as the connection lives. */
const CONNECTION_LIFE_SECONDS = 3_600;

/** The length of a statement's name, which is 128 bits of its hash. PostgreSQL takes names of 63 characters. */
const NAME_DIGITS = 32;

/**
 * How much longer than PostgreSQL's own limit this process waits for an answer. Without this limit, a connection whose other
 * end fell silent (a machine without power, a firewall that dropped its state) would block its statement, and all that wait
 * for the connection, for the quarter of an hour that TCP keeps trying.
 */
const ANSWER_GRACE_MS = 2_000;

/**
 * Opens a pool on a PostgreSQL database, with Prisma in front. Connects with the first query, so it returns at once
 * also when PostgreSQL is not there yet.
 * @throws ConfigError if a file of TLS can't be used, or the URL and `caFile` disagree about TLS
 */
export function openDatabase(url: string, options: DatabaseOptions = {}) {
  const address = addressOf(url, options.caFile, options);
  const settings: pg.PoolConfig = {
    ...address,
    Client,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: (options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS) + ANSWER_GRACE_MS,
    // Our client asks for what every pooler takes. Other settings are defaults of the database (`applyDefaults`).
    application_name: options.applicationName ?? "herald",
  };
  const refusals = createRefusals();
  const own: pg.PoolConfig & Address = {
    ...settings,
    max: options.poolSize ?? 10,
    maxLifetimeSeconds: CONNECTION_LIFE_SECONDS,
    onRefused: refusals.failed,
  };
  const pool = new pg.Pool(own);
  // Opened with the first ping, and closed when none came for ten seconds. The second connection is for the time while a commit hangs.
  const pingPool = new pg.Pool({ ...settings, max: 2, query_timeout: PING_TIMEOUT_MS });
  const connectionLost = (error: Error) => options.onConnectionLost?.(error);
  pool.on("error", connectionLost);
  // A primary that becomes a standby keeps its connections, and Prisma's transactions give theirs back without the error: they would be used on and on.
  const toStandby = new WeakSet<pg.PoolClient>();
  pool.on("connect", (client) => {
    refusals.connected();
    // Not in pg's types: what the server says, before it fails the statement.
    const { connection } = client as unknown as { connection: EventEmitter };
    connection.on("errorMessage", ({ code }: { code?: string }) => {
      if (isStatementLost(code)) options.onStatementLost?.();
      if (code === READ_ONLY) toStandby.add(client);
    });
  });
  pool.on("release", (error, client) => {
    if (!error && toStandby.has(client)) void client.end();
  });
  pingPool.on("error", connectionLost);
  const clock = createDatabaseClock();
  const ping = atMostEach(PING_MS, async () => clock.update(await readTime(pingPool, clock)));
  const failures = statementFailures();
  const statementName = preparesStatements(url) ? preparedStatementNames() : () => "";
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, {
      statementNameGenerator: ({ sql }) => statementName(sql),
      onConnectionError: connectionLost,
    }),
  });
  return {
    tlsFiles: address.tlsFiles,
    /** For everything but the hot statements. Its first query takes memory and CPU, so a process may leave it unused. */
    prisma,
    /** For the hot statements, directly to PostgreSQL over the same connections. */
    queries: directQueries(pool, statementName, failures.watch),
    /** For how long PostgreSQL has not carried out a statement of `queries`. */
    failures,
    /** Why PostgreSQL refuses new connections, even while those that are open still work; undefined if it refuses none. */
    refusal: refusals.latest,
    /** For readiness: over the connection of `ping`, so that it doesn't wait for the work. */
    probes: directQueries(pingPool, () => ""),
    /** Reads over the same connections. PostgreSQL ends a read after the given number of milliseconds (57014). */
    readsWithin: (timeoutMs: number) => boundedReads(pool, statementName, timeoutMs),
    clock,
    /** Reads PostgreSQL's time over a reserved connection, at most once a second. Rejects if PostgreSQL is away. */
    ping: async () => {
      if (pingPool.ending) throw new Error("The database was closed.");
      await ping();
    },
    /** Lets running queries finish and closes every connection. Closing again does nothing. */
    close: async () => {
      await prisma.$disconnect();
      await Promise.all([pool, pingPool].map((each) => each.ending || each.end()));
    },
  };
}

/** PostgreSQL sends its time as a whole number of microseconds: a setting (`extra_float_digits`) can round a fractional one by days. */
async function readTime(pool: pg.Pool, { monotonicMs }: Clock): Promise<TimeReading> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    const askedMs = monotonicMs();
    const { rows } = await client.query(
      "select (extract(epoch from clock_timestamp()) * 1000000)::bigint::text as microseconds",
    );
    return {
      askedMs,
      databaseMs: Number((rows[0] as { microseconds: string }).microseconds) / 1_000,
      answeredMs: monotonicMs(),
    };
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.release(failure);
  }
}

/**
 * Names statements by their text, so that PostgreSQL parses and plans a hot statement once per connection. Beyond the limit, the text that was not
 * used for longest loses its name; the same text gets the same one again.
 *
 * The name is the text's hash, the same in every process: where a pooler hands on connections with what others have prepared
 * there, a name can be missing or taken, and never stands for another statement.
 */
function preparedStatementNames(): (sql: string) => string {
  const names = new Map<string, string>();
  return (sql) => {
    const name = names.get(sql) ?? `herald_${createHash("sha256").update(sql).digest("hex").slice(0, NAME_DIGITS)}`;
    // A map has its keys in the order in which they were set.
    names.delete(sql);
    names.set(sql, name);
    if (names.size > MAX_PREPARED_STATEMENTS) names.delete(names.keys().next().value ?? "");
    return name;
  };
}
