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

/** The SQLSTATE behind an error of Prisma's raw queries; undefined where PostgreSQL said nothing. */
export function sqlStateOf(error: unknown): string | undefined {
  const meta = (error as { meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } } }).meta;
  const code = meta?.driverAdapterError?.cause?.originalCode;
  return typeof code === "string" ? code : undefined;
}
