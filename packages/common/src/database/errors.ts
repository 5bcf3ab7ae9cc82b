import pg from "pg";
import { isTlsFault } from "../security/connection-fault.ts";
import { TimeUnknownError } from "./database-clock.ts";

const NO_SUCH_STATEMENT = "26000";
const STATEMENT_EXISTS = "42P05";
const QUERY_CANCELED = "57014";
const LOCK_NOT_AVAILABLE = "55P03";
const DEADLOCK_DETECTED = "40P01";
const SERIALIZATION_FAILURE = "40001";
/** The server is a standby, or `default_transaction_read_only` is set. */
export const READ_ONLY = "25006";
const FOREIGN_KEY_VIOLATION = "23503";
const CHECK_VIOLATION = "23514";

/** Whether PostgreSQL ended a statement with one of these states. */
const endedWith =
  (...states: readonly string[]) =>
  (error: unknown): boolean =>
    states.includes(sqlStateOf(error) ?? "");

/**
 * Whether PostgreSQL refused a statement because of what it was given (SQLSTATE classes 22 and 23: data that a column
 * can't hold, a constraint), so that the same statement can't succeed later either. Anything else, an outage, a conflict or a
 * partition that is missing, is worth another try.
 */
export function isDataError(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code !== undefined && /^2[23]/.test(code) && !isConflict(error) && !isPartitionMissing(error);
}

/**
 * Whether there is no partition for a row (no table of Herald's has a check of its own): publishers were away for longer than they
 * make partitions ahead, or can't make them. The same statement can succeed once there is one.
 */
export const isPartitionMissing = endedWith(CHECK_VIOLATION);

const PARTITION_MISSING =
  "there is no partition for this time; publishers make them, so see that one runs, and what it logs (docs/operating/runbook.md)";

/** A log's words, with what an operator can do if {@link isPartitionMissing}. */
export const withRemedy = (words: string, error: unknown): string =>
  isPartitionMissing(error) ? `${words}: ${PARTITION_MISSING}` : words;

/**
 * Whether a statement conflicted with another transaction: a deadlock, or the deletion of a row that it was about to refer to. The same
 * statement can succeed when it is run again.
 */
export const isConflict = endedWith(DEADLOCK_DETECTED, SERIALIZATION_FAILURE, FOREIGN_KEY_VIOLATION);

/**
 * Whether a statement was too much at once: its time was over, it waited too long for a lock, or it met a deadlock. The same
 * statement may fail again for ever; a smaller one can succeed.
 */
export const isTooMuch = endedWith(QUERY_CANCELED, LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED);

export const isLockNotAvailable = endedWith(LOCK_NOT_AVAILABLE);

/** Whether another transaction changed what a statement had read, which ends it only if the user's isolation is above read committed. */
export const isSerializationFailure = endedWith(SERIALIZATION_FAILURE);

/** Whether a column has another type than when the connection prepared the statement. PostgreSQL has not run it. */
export function isPlanOutdated(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.routine === "RevalidateCachedQuery";
}

export const isOutOfTime = endedWith(QUERY_CANCELED);

/** Whether a prepared statement's name was missing on a connection, or taken, as behind a pooler that knows nothing of them. */
export function isStatementLost(sqlState: string | undefined): boolean {
  return sqlState === NO_SUCH_STATEMENT || sqlState === STATEMENT_EXISTS;
}

/** The SQLSTATE behind an error of a statement, sent by Prisma or directly; undefined if PostgreSQL sent none. */
export function sqlStateOf(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return error.code;
  const meta = (error as { meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } } }).meta;
  const code = meta?.driverAdapterError?.cause?.originalCode;
  return typeof code === "string" ? code : undefined;
}

/** Prisma's codes for a server that is away, does not answer, closed the connection, or has no connection left. */
const OUTAGE_CODES: ReadonlySet<unknown> = new Set(["P1001", "P1002", "P1008", "P1017", "P2024", "P2028", "P2037"]);

/** The names of Prisma's adapter for the same failures of a raw query, and for a server that refuses Herald. */
const OUTAGE_KINDS: ReadonlySet<unknown> = new Set([
  "DatabaseNotReachable",
  "TlsConnectionError",
  "ConnectionClosed",
  "SocketTimeout",
  "TooManyConnections",
  "AuthenticationFailed",
  "DatabaseAccessDenied",
  "DatabaseDoesNotExist",
]);

/** The errors of pg itself. They have no code. */
const OUTAGE_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/;

/** The network's errors, as a statement gets them that goes directly to PostgreSQL. */
const OUTAGE_ERRNOS: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/**
 * Whether a query failed because PostgreSQL can't be used at the moment: it can't be reached, or was not since the start, is
 * overloaded (a statement's time is over, no connection is left), is shutting down, takes no writes since another server has become
 * the primary, has no partition for a row, or does not pass the check of its certificate. The query may have been carried out all the
 * same.
 */
export function isDatabaseOutage(error: unknown): boolean {
  const { code, message, meta } = (error ?? {}) as {
    code?: unknown;
    message?: unknown;
    meta?: { driverAdapterError?: { cause?: { kind?: unknown } } };
  };
  if (error instanceof TimeUnknownError) return true;
  if (OUTAGE_CODES.has(code) || OUTAGE_KINDS.has(meta?.driverAdapterError?.cause?.kind)) return true;
  // SQLSTATE classes: connection exception, no such user, no such database, insufficient resources, operator intervention (57014 is a statement's timeout).
  const state = sqlStateOf(error) ?? "";
  if (/^(08|28|3D|53|57)/.test(state) || state === READ_ONLY || isPartitionMissing(error)) return true;
  if (OUTAGE_ERRNOS.has(code) || isTlsFault(error)) return true;
  return typeof message === "string" && OUTAGE_MESSAGE.test(message);
}
