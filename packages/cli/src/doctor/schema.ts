import type { Session } from "@herald/common/database/client";
import { DATABASE_INFO, type DatabaseInfo, placeFault } from "@herald/common/database/database-info";
import {
  appliedMigrations,
  type Migration,
  migrationsFault,
  migrationsFolder,
  readMigrations,
} from "@herald/common/database/migrations";
import { plural } from "../output.ts";
import { type Check, type Finding, fault, ok, skipped } from "./finding.ts";
import type { DatabaseSubject } from "./postgres.ts";

export const schema: Check<DatabaseSubject> = {
  name: "schema",
  async examine({ session }) {
    const [info] = await session.query<DatabaseInfo>(DATABASE_INFO);
    // With another schema first, the statements below would not find Herald's tables.
    if (info && placeFault(info)) return skipped("The tables are not found.");
    const applied = await appliedMigrations({
      $queryRaw: async <T>([sql = ""]: readonly string[]) => (await session.read(sql)) as T,
    });
    const migrations = readMigrations(migrationsFolder());
    const problem = migrationsFault(migrations, applied);
    if (problem) return fault(problem.what, problem.remedy);
    const newer = applied.length - migrations.length;
    if (newer > 0) return ok(`Up to date, and ${plural(newer, "migration")} newer than this Herald.`);
    return await changesOf(session, migrations);
  },
};

/** The objects that the migrations make, by their text: the statement of each index, the body of each function. */
function madeBy(migrations: readonly Migration[]) {
  const text = migrations.map(({ sql }) => sql).join("\n");
  const all = (pattern: RegExp) => [...text.matchAll(pattern)];
  return {
    text,
    tables: all(/^create table "?(\w+)"?/gim).map(([, name]) => name),
    indexes: all(/^create (?:unique )?index "?(\w+)"? on [^;]+/gim).map(([statement, name]) => ({ name, statement })),
    functions: all(/^create function "?(\w+)"?[^$]*\$\$([\s\S]*?)\$\$/gim).map(([, name, body]) => ({ name, body })),
  };
}

const SEARCH_PATH = "pg_catalog, public, pg_temp";

/**
 * Finds tables, indexes and functions that somebody changed without a migration, if the change stops Herald or makes it slow. The remedy of each finding
 * is an SQL statement. Locks nothing; reads PostgreSQL's system catalogue.
 */
async function changesOf(session: Session, migrations: readonly Migration[]): Promise<Finding[]> {
  const { text, tables, indexes, functions } = madeBy(migrations);
  const found = await session.query<{ what: string; remedy: string }>(
    `with herald as (
       select * from pg_class
       where relnamespace = to_regnamespace('public') and relkind in ('r', 'p') and regexp_replace(relname, '_[0-9]{8}$', '') = any($1)
     ), made as (
       select name, regexp_replace(statement, '\\s+', ' ', 'g') as statement from json_to_recordset($2) as made (name text, statement text)
     ), written as (
       select * from json_to_recordset($3) as written (name text, body text)
     )
     select 'Row level security may hide rows of ' || relname || '.' as what, format('\`alter table %I disable row level security\`', relname) as remedy
     from herald where relrowsecurity
     union all
     select relname || ' is unlogged: a crash of PostgreSQL empties it.', format('\`alter table %I set logged\`', relname)
     from herald where relpersistence = 'u'
     union all
     select relname || ' is not vacuumed: dead rows stay, and statements take ever longer.', format('\`alter table %I reset (autovacuum_enabled)\`', relname)
     from herald where exists (select from unnest(reloptions) as option where option ~ '^autovacuum_enabled=(false|off|no|0)$')
     union all
     select 'The trigger ' || tgname || ' on ' || relname || ' is not Herald''s.', format('\`drop trigger %I on %I\`', tgname, relname)
     from pg_trigger join herald on herald.oid = tgrelid where not tgisinternal and tgparentid = 0 and strpos($4, tgname) = 0
     union all
     select 'The publication ' || pubname || ' lets no row of ' || relname || ' be changed or deleted, since the rows'' identity is not published.',
       format('\`alter table %I replica identity default\`', relname)
     from herald
     join pg_publication_tables as published on schemaname = 'public' and tablename in (relname, regexp_replace(relname, '_[0-9]{8}$', ''))
     join pg_publication using (pubname)
     where relkind = 'r' and relreplident <> 'f' and (pubupdate or pubdelete) and not exists (
       select from pg_index
       where indrelid = herald.oid and case relreplident when 'd' then indisprimary when 'i' then indisreplident end
     )
     union all
     select 'The constraint ' || conname || ' on ' || relname || ' is not Herald''s.', format('\`alter table %I drop constraint %I\`', relname, conname)
     from pg_constraint join herald on herald.oid = conrelid
     where contype in ('c', 'f', 'x') and coninhcount = 0 and strpos($4, conname) = 0
     union all
     select 'The index ' || index.relname || ' is not valid: nothing is found by it.', case index.relkind
         when 'i' then format('\`reindex index concurrently %I\`', index.relname)
         else format('\`drop index %I\`', index.relname) || coalesce(' and \`' || statement || '\`', '')
       end
     from pg_index join herald on herald.oid = indrelid join pg_class as index on index.oid = indexrelid left join made on name = index.relname
     where not (indisvalid and indisready)
     union all
     select 'There is no index ' || name || ': statements read whole tables.', '\`' || statement || '\`'
     from made where to_regclass('public.' || quote_ident(name)) is null
     union all
     select 'The function ' || name || case when pg_proc.oid is null then ' is not there.' else ' is another one.' end,
       'run its statement in prisma/migrations again, as create or replace function.'
     from written left join pg_proc on proname = name and pronamespace = to_regnamespace('public')
     where prosrc is distinct from body
     union all
     select 'The function ' || proname || ' may be given tables that are not Herald''s, with the rights of its owner.',
       format('\`alter function %s set search_path = ${SEARCH_PATH}\`', pg_proc.oid::regprocedure)
     from pg_proc join written on name = proname
     where pronamespace = to_regnamespace('public') and prosecdef and not coalesce('search_path=${SEARCH_PATH}' = any(replace(proconfig::text, '\\"', '')::text[]), false)`,
    [tables, JSON.stringify(indexes), JSON.stringify(functions), text],
  );
  const most = found
    .slice(0, NAMED_AT_MOST)
    .map(({ what, remedy }) => fault(what, `As the owner of the tables: ${remedy}`));
  const more = found.length - NAMED_AT_MOST;
  if (more > 0) most.push(fault(`${more} more are not as migrations make them.`, "Mend those that are named first."));
  return most;
}

const NAMED_AT_MOST = 10;
