/**
 * Whether PostgreSQL refused a statement because of what it was given (SQLSTATE classes 22 and 23: data that a column
 * can't hold, a constraint), so that the same statement can't succeed later either. Anything else, an outage or a deadlock,
 * is worth another try.
 */
export function isDataError(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code !== undefined && /^2[23]/.test(code);
}

/** The SQLSTATE behind an error of Prisma's raw queries; undefined where PostgreSQL said nothing. */
export function sqlStateOf(error: unknown): string | undefined {
  const meta = (error as { meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } } }).meta;
  const code = meta?.driverAdapterError?.cause?.originalCode;
  return typeof code === "string" ? code : undefined;
}
