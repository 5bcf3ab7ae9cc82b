import pg from "pg";

/**
 * Whether PostgreSQL refused a statement because of what it was given (SQLSTATE classes 22 and 23: data that a column
 * can't hold, a constraint), so that the same statement can't succeed later either. Anything else, an outage or a conflict,
 * is worth another try.
 */
export function isDataError(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code !== undefined && /^2[23]/.test(code) && !isConflict(error);
}

/**
 * Whether another transaction got in the way of a statement: a deadlock, or the deletion of a row that it was about to
 * refer to. That is nobody's fault, and the same statement finds its way when it's run again.
 */
export function isConflict(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === DEADLOCK_DETECTED || code === SERIALIZATION_FAILURE || code === FOREIGN_KEY_VIOLATION;
}

const DEADLOCK_DETECTED = "40P01";
const SERIALIZATION_FAILURE = "40001";
const FOREIGN_KEY_VIOLATION = "23503";

/** The SQLSTATE behind an error of a statement, whichever way it went; undefined where PostgreSQL said nothing. */
export function sqlStateOf(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return error.code;
  const meta = (error as { meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } } }).meta;
  const code = meta?.driverAdapterError?.cause?.originalCode;
  return typeof code === "string" ? code : undefined;
}

/** Prisma's codes for a server that isn't there, doesn't answer, closed the connection, or has none left. */
const OUTAGE_CODES: ReadonlySet<unknown> = new Set(["P1001", "P1002", "P1008", "P1017", "P2024", "P2028", "P2037"]);

/** What Prisma's adapter calls the same things behind a raw query, and a server that doesn't let Herald in. */
const OUTAGE_KINDS: ReadonlySet<unknown> = new Set([
  "DatabaseNotReachable",
  "ConnectionClosed",
  "SocketTimeout",
  "TooManyConnections",
  "AuthenticationFailed",
  "DatabaseAccessDenied",
  "DatabaseDoesNotExist",
]);

/** pg's own errors, which come through as they are. They have no code. */
const OUTAGE_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/;

/** The network's, as a statement that goes straight to PostgreSQL meets them. */
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
 * Whether a query failed because PostgreSQL can't be used at the moment: it can't be reached, is overloaded (a statement's
 * time is over, no connection is left), or is shutting down. What the query would have done may have been done.
 */
export function isDatabaseOutage(error: unknown): boolean {
  const { code, message, meta } = (error ?? {}) as {
    code?: unknown;
    message?: unknown;
    meta?: { driverAdapterError?: { cause?: { kind?: unknown } } };
  };
  if (OUTAGE_CODES.has(code) || OUTAGE_KINDS.has(meta?.driverAdapterError?.cause?.kind)) return true;
  // SQLSTATE classes: connection exception, insufficient resources, operator intervention (57014 is a statement's timeout).
  if (/^(08|53|57)/.test(sqlStateOf(error) ?? "")) return true;
  if (OUTAGE_ERRNOS.has(code)) return true;
  return typeof message === "string" && OUTAGE_MESSAGE.test(message);
}
