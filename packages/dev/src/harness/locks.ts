import { addressOf, Client } from "@herald/common/database/client";
import { directQueries, type Queries } from "@herald/common/database/queries";
import type pg from "pg";
import type { TestDatabase } from "./use-database.ts";

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
      if ((held?.count ?? 0) > most && process.env.LOCKS_SHOWN) console.log(held?.count, config.text.slice(0, 80));
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
