import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "@herald/common/database/client";
import { sqlStateOf } from "@herald/common/database/errors";
import { migrationsFolder, readMigrations } from "@herald/common/database/migrations-folder";
import { plural } from "../output.ts";
import { type Check, type Finding, fault, ok, skipped } from "./finding.ts";
import type { DatabaseSubject } from "./postgres.ts";

/** Tables, columns, indexes, functions and types by their names, each with its parts in PostgreSQL's own words. */
type Catalogue = Readonly<Record<string, readonly string[]>>;

interface AppliedMigration {
  name: string;
  checksum: string;
  finished: boolean;
}

const UNDEFINED_TABLE = "42P01";

export const schema: Check<DatabaseSubject> = {
  name: "schema",
  async examine({ session }) {
    const [path] = await session.query<{ first: string | null }>("select current_schema() as first");
    // PostgreSQL names what it does not find by itself otherwise.
    if (path?.first !== "public") return skipped("The user's search_path leads elsewhere.");
    const applied = await session
      .query<AppliedMigration>(
        `select migration_name as name, checksum, finished_at is not null as finished
         from public._prisma_migrations where rolled_back_at is null`,
      )
      .catch((error: unknown) => {
        if (sqlStateOf(error) === UNDEFINED_TABLE) return [];
        throw error;
      });
    const migrations = readMigrations(migrationsFolder());
    const problem = migrationsFinding(migrations, applied);
    if (problem) return problem;
    const newer = applied.length - migrations.length;
    if (newer > 0) return ok(`Up to date, and ${plural(newer, "migration")} newer than this Herald.`);
    return catalogueFindings(catalogueOf(readFileSync(catalogueFile(), "utf8")), await readCatalogue(session));
  },
};

export function migrationsFinding(
  migrations: readonly { name: string; checksum: string }[],
  applied: readonly AppliedMigration[],
): Finding | undefined {
  const cutOff = applied.find(({ finished }) => !finished);
  if (cutOff) {
    return fault(
      `Migration ${cutOff.name} failed, or was cut off.`,
      "Run herald migrate: it says what may be left of it, and how to go on.",
    );
  }
  const known = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  const missing = migrations.filter(({ name }) => !known.has(name));
  if (missing.length > 0) {
    return fault(
      `${missing.length} of ${plural(migrations.length, "migration")} missing: ${missing.map(({ name }) => name).join(", ")}.`,
      "Run herald migrate as the owner of the tables, before the services start.",
    );
  }
  const changed = migrations.find(({ name, checksum }) => known.get(name) !== checksum);
  if (!changed) return undefined;
  return fault(
    `Migration ${changed.name} was applied with another text than this Herald's.`,
    "Run the Herald that this database was migrated by; its migrations may not be edited.",
  );
}

/**
 * What a database has after all migrations of this Herald; a test holds it against one that was just migrated. Beside the migrations,
 * so that it is in an image too.
 */
export function catalogueFile(): string {
  return join(migrationsFolder(), "catalogue.txt");
}

const SEPARATOR = " | ";

export function catalogueText(catalogue: Catalogue): string {
  const lines = Object.entries(catalogue).map(([name, parts]) => `${name}: ${parts.join(SEPARATOR)}`.trimEnd());
  return `${lines.join("\n")}\n`;
}

function catalogueOf(text: string): Catalogue {
  const lines = text.trimEnd().split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const [name = "", parts = ""] = line.split(/: ?(.*)/);
      return [name, parts === "" ? [] : parts.split(SEPARATOR)];
    }),
  );
}

/**
 * The objects of Herald in a database, without the partitions of the history. An owner is shown only where it is not that of the other
 * tables. Locks nothing; reads the catalogue.
 */
export async function readCatalogue(session: Session): Promise<Catalogue> {
  const rows = await session.query<{ name: string; parts: (string | null)[] }>(
    `with relation as (
       select pg_class.*, (select relowner from pg_class where oid = to_regclass('public.webhook_endpoint')) as owner
       from pg_class
       where relnamespace = to_regnamespace('public') and relkind in ('r', 'p', 'v')
         and relname <> '_prisma_migrations' and relname !~ '_[0-9]{8}$'
     ), entry (name, parts) as (
       select case relkind when 'v' then 'view ' else 'table ' end || relname, array[
           case relkind when 'p' then 'partitioned' end,
           case relpersistence when 'u' then 'unlogged' end,
           case when relrowsecurity then 'row level security' end,
           case when relowner <> owner then 'owned by ' || relowner::regrole end
         ] || reloptions || array(
           select 'trigger ' || tgname from pg_trigger where tgrelid = relation.oid and not tgisinternal order by 1
         )
       from relation
       union all
       select 'columns of ' || relname, array(
           select concat_ws(' ', attname, format_type(atttypid, atttypmod), case when attnotnull then 'not null' end,
             'default ' || (select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = attrelid and adnum = attnum))
           from pg_attribute where attrelid = relation.oid and attnum > 0 and not attisdropped order by attname
         )
       from relation
       union all
       select 'index ' || indexrelid::regclass, array[
           pg_get_indexdef(indexrelid),
           case when indisprimary then 'primary key' end,
           case when not (indisvalid and indisready) then 'invalid' end
         ]
       from pg_index join relation on relation.oid = indrelid
       union all
       select 'constraint ' || conname || ' on ' || relname, array[pg_get_constraintdef(pg_constraint.oid)]
       from pg_constraint join relation on relation.oid = conrelid where contype in ('c', 'f', 'x')
       union all
       select 'function ' || pg_proc.oid::regprocedure, array[
           case when prosecdef then 'security definer' end,
           case when proowner <> (select owner from relation limit 1) then 'owned by ' || proowner::regrole end,
           'body ' || md5(prosrc)
         ] || proconfig
       from pg_proc where pronamespace = to_regnamespace('public')
       union all
       select 'type ' || typname, array(select enumlabel::text from pg_enum where enumtypid = pg_type.oid order by enumsortorder)
       from pg_type where typnamespace = to_regnamespace('public') and typtype = 'e'
     )
     select name, array_remove(parts, null) as parts from entry order by name collate "C"`,
  );
  return Object.fromEntries(rows.map(({ name, parts }) => [name, parts as string[]]));
}

const NAMED_AT_MOST = 10;

/** Further objects, such as an operator's own index, are no fault. */
export function catalogueFindings(migrated: Catalogue, found: Catalogue): Finding[] {
  const findings = Object.entries(migrated).flatMap(([name, parts]) => {
    const there = found[name];
    const remedy = `As the owner of the tables, make it what prisma/migrations makes it: ${parts.join(", ") || name}.`;
    if (there === undefined) return [fault(`There is no ${name}.`, remedy)];
    const lacks = parts.filter((part) => !there.includes(part));
    const has = there.filter((part) => !parts.includes(part));
    if (lacks.length + has.length === 0) return [];
    const words = [...lacks.map((part) => `lacks "${part}"`), ...has.map((part) => `has "${part}"`)];
    return [fault(`Not as migrations make it: ${name} (${words.join(", ")}).`, remedy)];
  });
  if (findings.length === 0) return [ok("Up to date: tables, indexes and functions are as migrations make them.")];
  const more = findings.length - NAMED_AT_MOST;
  if (more <= 0) return findings;
  return [
    ...findings.slice(0, NAMED_AT_MOST),
    fault(`${more} more are not as migrations make them.`, "Mend those that are named first."),
  ];
}
