import { addressOf, Client } from "@herald/common/database/client";
import { LOCKS_A_PARTITION } from "@herald/common/database/partitions";
import { directQueries, type Queries } from "@herald/common/database/queries";
import type pg from "pg";
import type { TestDatabase } from "./use-database.ts";

/** As many days as a Herald with the default RETENTION_DAYS has after its first month. */
const DAYS = 40;

/** Gives a history without partitions one for each of 40 days, up to three days ahead; what {@link mostLocks} counts grows with them. */
export async function makeDays(queries: Queries): Promise<void> {
  for (let day = 4 - DAYS; day < 4; day++) {
    await queries.$queryRaw`select make_partitions(current_date + ${day}::int, current_date + ${day}::int + 1)`;
  }
}

/** The most locks of a statement that runs all the time, whatever the number of days is. PostgreSQL has room for 64 a connection. */
export const MOST_LOCKS = 40;

/** The most locks of a statement that reads or erases the whole history: some for each partition. The check "locks' room" of the doctor counts with them. */
export const MOST_LOCKS_OF_ALL = DAYS * LOCKS_A_PARTITION;

const HELD = `select count(*)::int as count from pg_locks join pg_class on pg_class.oid = relation
  where pid = pg_backend_pid() and relnamespace = 'public'::regnamespace`;

/**
 * The most locks on tables and indexes that a statement of a call holds: when it is planned, and when its cached plan runs. Nothing of it stays.
 *
 * @param call runs the statements; it is called several times
 */
export async function mostLocks({ url }: TestDatabase, call: (queries: Queries) => Promise<unknown>): Promise<number> {
  const client = new Client(addressOf(url));
  await client.connect();
  const names = new Map<string, string>();
  const nameOf = (text: string) => names.get(text) ?? names.set(text, `s${names.size}`).get(text) ?? "";
  let most = 0;
  async function query(config: pg.QueryConfig): Promise<pg.QueryResult> {
    await client.query("begin");
    try {
      const result = await client.query(config);
      const [held] = (await client.query<{ count: number }>(HELD)).rows;
      most = Math.max(most, held?.count ?? 0);
      return result;
    } finally {
      await client.query("rollback");
    }
  }
  try {
    for (let run = 0; run < 3; run++) await call(directQueries({ query } as unknown as pg.Pool, nameOf));
  } finally {
    await client.end();
  }
  return most;
}
