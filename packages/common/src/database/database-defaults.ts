import type pg from "pg";
import { sqlStateOf } from "./errors.ts";

/** How long PostgreSQL lets one statement run, unless said otherwise. */
export const STATEMENT_TIMEOUT_MS = 30_000;

export interface DefaultsOptions {
  statementTimeoutMs?: number | undefined;
  /** Whether statements are prepared under a name, so that they are planned once for each connection. */
  preparesStatements: boolean;
}

/**
 * PostgreSQL's settings that Herald's statements are made for, by their names, as `alter database` takes them. They are the
 * database's, and not asked for by each connection: poolers refuse startup parameters beyond the standard, and a `set` of a
 * session reaches the client that gets the server's connection next (docs/adr/0033).
 */
export function databaseDefaults({
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  preparesStatements,
}: DefaultsOptions): Readonly<Record<string, string>> {
  return {
    // Otherwise a schema with the user's name would come before the one that has the tables.
    search_path: "public, pg_temp",
    statement_timeout: String(statementTimeoutMs),
    // On today's disks a random page costs hardly more than the next one. PostgreSQL's default of 4 makes it read whole tables
    // where a few hundred rows are wanted.
    random_page_cost: "1.1",
    // To plan a statement over all partitions takes longer than to run it, and PostgreSQL would do so each time, since it hopes that
    // the values name one partition. They do: a cached plan leaves the others out when it starts. Without names no plan is cached,
    // and one for the values at hand is the cheaper one.
    plan_cache_mode: preparesStatements ? "force_generic_plan" : "auto",
  };
}

const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Gives a database its defaults, where it has others. New sessions have them, those that are open keep what they had.
 * @param client connected to that database. Two at once would meet each other on the database's row: the caller holds a lock
 * @returns the statements that only the database's owner may run, where this user is not; empty if all is done
 */
export async function applyDefaults(
  client: pg.ClientBase,
  wanted: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string; defaults: string[] }>(
    `select datname as name, coalesce(setconfig, '{}') as defaults
     from pg_database left join pg_db_role_setting on setdatabase = pg_database.oid and setrole = 0
     where datname = current_database()`,
  );
  const refused: string[] = [];
  for (const { name, defaults } of rows) {
    for (const [setting, value] of Object.entries(wanted)) {
      // With `quote_all_identifiers` PostgreSQL quotes the names of a list.
      if (defaults.some((each) => each.replaceAll('"', "") === `${setting}=${value}`)) continue;
      // A list is not one value.
      const values = value.split(", ").map((each) => client.escapeLiteral(each));
      const statement = `alter database ${client.escapeIdentifier(name)} set ${setting} = ${values.join(", ")}`;
      try {
        await client.query(statement);
      } catch (error) {
        if (sqlStateOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
        refused.push(statement);
      }
    }
  }
  return refused;
}
