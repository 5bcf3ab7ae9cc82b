import { databaseDefaults } from "@herald/common/database/database-defaults";
import type { Check } from "../check.ts";
import { type Finding, ok, warning } from "../finding.ts";
import type { StoredSubject } from "./subject.ts";

interface Found {
  name: string;
  setting: string;
}

export const defaults: Check<StoredSubject> = {
  name: "database's defaults",
  async examine({ queries, statementTimeoutMs, preparesStatements }) {
    const wanted = databaseDefaults({ statementTimeoutMs, preparesStatements });
    // A database without the table `due` has no schema yet, and gets its defaults with that: it is passed over.
    const found = await queries.$queryRaw<Found[]>`
      select name, setting from pg_settings
      where name = any(${Object.keys(wanted)}::text[]) and 'due'::regclass is not null`;
    return defaultsFinding(wanted, found);
  },
};

export function defaultsFinding(wanted: Readonly<Record<string, string>>, found: readonly Found[]): Finding {
  const settings = new Map(found.map(({ name, setting }) => [name, setting]));
  const others = Object.entries(wanted).filter(([name, value]) => settings.get(name) !== value);
  if (others.length === 0) return ok("PostgreSQL gives the services' sessions what their statements are made for.");
  const words = others.map(([name, value]) => `${name} is ${settings.get(name) ?? "not set"} and not ${value}`);
  return warning(
    `${words.join(", ")}: statements take longer, or run without a limit.`,
    "Run herald migrate with the services' DATABASE_TIMEOUT_SECONDS, and with pgbouncer=true in its DATABASE_URL where they have it. " +
      "Where it prints statements, run them as the owner of the database. Where the user has settings of its own, alter role resets them. " +
      "A pooler's open connections keep what they had: let it connect anew.",
  );
}
