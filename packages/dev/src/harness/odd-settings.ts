import type { TestDatabase } from "./use-database.ts";

/** Settings that change how values are written or read, each with a value that a role may have. */
export const ODD_SETTINGS = [
  ["datestyle", "German, DMY"],
  ["datestyle", "SQL, DMY"],
  ["datestyle", "Postgres, MDY"],
  ["timezone", "Asia/Kolkata"],
  ["intervalstyle", "sql_standard"],
  ["bytea_output", "escape"],
  ["standard_conforming_strings", "off"],
  ["extra_float_digits", "-15"],
  ["array_nulls", "off"],
  ["transform_null_equals", "on"],
  ["backslash_quote", "off"],
  ["quote_all_identifiers", "on"],
  ["xmloption", "document"],
  ["client_encoding", "LATIN1"],
  ["row_security", "off"],
  ["default_transaction_deferrable", "on"],
  ["default_transaction_isolation", "repeatable read"],
] as const;

const END_SESSIONS = `do $$ begin
  perform pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
end $$`;

type Settings = readonly (readonly [name: string, value: string])[];

/** Sets what sessions begin with, in place of all that was set so before, and ends the database's open sessions. `whose` is as in "alter role x". */
export async function setSettings(
  run: (statement: string) => Promise<unknown>,
  whose: string,
  settings: Settings,
): Promise<void> {
  await run(`alter ${whose} reset all`);
  for (const [name, value] of settings) await run(`alter ${whose} set ${name} = '${value}'`);
  await run(END_SESSIONS);
}

/** As {@link setSettings}, for the user of a test's database. */
export function setUserSettings({ url, database: { prisma } }: TestDatabase, settings: Settings): Promise<void> {
  const whose = `role current_user in database ${new URL(url).pathname.slice(1)}`;
  return setSettings((statement) => prisma.$executeRawUnsafe(statement), whose, settings);
}
