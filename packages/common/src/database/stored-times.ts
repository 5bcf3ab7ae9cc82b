import { Prisma } from "./generated/client.ts";

/** No work waits until a time that is further ahead: the longest lease is four times the longest DATABASE_TIMEOUT_SECONDS, 40 minutes. */
const FARTHEST_MS = 45 * 60_000;

/**
 * SQL for "a stored time of work is over". A time that is further ahead than any work waits is from before PostgreSQL's clock was set back, so it is
 * over too. Not for `infinity`, which is over as well by this.
 */
export const isOver = (time: Prisma.Sql, now: Date): Prisma.Sql =>
  Prisma.sql`(${time} <= ${now}::timestamptz or ${time} > ${new Date(now.getTime() + FARTHEST_MS)}::timestamptz)`;
