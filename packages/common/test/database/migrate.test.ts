import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { ODD_SETTINGS, setUserSettings } from "@herald/dev/harness/odd-settings";
import { withSchemaEngine } from "@herald/dev/harness/schema-engine";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { migrate } from "../../src/database/migrate.ts";
import { migrationsFolder, readMigrations } from "../../src/database/migrations.ts";

type Database = ReturnType<typeof useDatabase>;

interface Recorded {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
  started_at: Date;
  applied_steps_count: number;
  logs: string | null;
}

const recorded = ({ database }: Database) =>
  database.prisma.$queryRaw<Recorded[]>`select * from _prisma_migrations order by started_at`;
const tableOf = async ({ database }: Database, name: string) =>
  (await database.prisma.$queryRaw<[{ found: string | null }]>`select to_regclass(${name})::text as found`)[0].found;

/** Prisma's own engine on a folder of migrations and a database. */
function prisma({ url }: Database, folder = migrationsFolder()) {
  const migrationsList = {
    baseDir: folder,
    lockfile: { path: "migration_lock.toml", content: readFileSync(join(folder, "migration_lock.toml"), "utf8") },
    shadowDbInitScript: "",
    migrationDirectories: readMigrations(folder).map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: "migration.sql", content: { tag: "ok" as const, value: sql } },
    })),
  };
  const filters = { externalTables: [], externalEnums: [] };
  return {
    deploy: () => withSchemaEngine(url, (engine) => engine.applyMigrations({ migrationsList, filters })),
    status: () =>
      withSchemaEngine(url, (engine) =>
        engine.diagnoseMigrationHistory({ migrationsList, filters, optInToShadowDatabase: false }),
      ),
  };
}

const UP_TO_DATE = { failedMigrationNames: [], editedMigrationNames: [], hasMigrationsTable: true, history: null };

describe("the repository's migrations", () => {
  const byHerald = useDatabase({ migrated: false });
  const byPrisma = useDatabase({ migrated: false });
  const migrations = readMigrations(migrationsFolder());
  const names = migrations.map(({ name }) => name);

  test("a migration keeps its text for ever: databases that have it would be refused", () => {
    expect(migrations.map(({ name, checksum }) => `${name} ${checksum.slice(0, 16)}`)).toEqual([
      "20261120000000_init f675fa7bd98993be",
      "20261126000000_on_arrival_from 434d351b0a98efe3",
      "20261127000000_own_headers 32d3d2ba1670e195",
      "20261128000000_due_shard 23a6d7fb425c6f71",
      "20261128000001_collation_of_keys 4209bd47a6716794",
      "20261128000002_collation_of_events 44933752ce4aa3eb",
      "20261128120000_change_request 540e7561c2f6f6f1",
      "20261128120100_change_request_key 357f688a816925a8",
    ]);
  });

  test("of several processes that migrate at once, one applies all migrations and all succeed, whatever settings their user has", async () => {
    await setUserSettings(byHerald, ODD_SETTINGS);
    const results = await Promise.all(Array.from({ length: 4 }, () => migrate(byHerald.url)));
    await setUserSettings(byHerald, []);
    expect(results.flatMap((result) => result.applied)).toEqual(names);
  });

  test("Prisma's engine reads a database that Herald migrated as up to date, and has nothing to apply", async () => {
    expect(await prisma(byHerald).status()).toMatchObject(UP_TO_DATE);
    expect(await prisma(byHerald).deploy()).toEqual({ appliedMigrationNames: [] });
  });

  test("Herald reads a database that Prisma's engine migrated as up to date", async () => {
    expect(await prisma(byPrisma).deploy()).toEqual({ appliedMigrationNames: names });
    expect(await migrate(byPrisma.url)).toEqual({ applied: [] });
  });

  test("Herald and Prisma's engine write the same records, into the same table", async () => {
    const described = async (database: Database) => ({
      records: (await recorded(database)).map(
        ({ migration_name, checksum, applied_steps_count, logs, finished_at }) => ({
          ...{ migration_name, checksum, applied_steps_count, logs },
          finished: finished_at !== null,
        }),
      ),
      columns: await database.database.prisma.$queryRaw`
        select column_name, data_type, character_maximum_length, is_nullable, column_default
        from information_schema.columns where table_name = '_prisma_migrations' order by ordinal_position`,
    });
    expect(await described(byHerald)).toEqual(await described(byPrisma));
  });
});

describe("a migration", () => {
  const db = useDatabase({ migrated: false });
  let folder: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "herald-migrations-"));
    writeFileSync(join(folder, "migration_lock.toml"), 'provider = "postgresql"\n');
    await db.database.prisma.$executeRawUnsafe("drop schema public cascade");
    await db.database.prisma.$executeRawUnsafe("create schema public");
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  function write(name: string, sql: string): void {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "migration.sql"), sql);
  }

  test("a migration may hold semicolons within a literal", async () => {
    write("1_semicolons", "create table a (text text); insert into a values ('one; two');");
    await migrate(db.url, { folder });
    expect(await db.database.prisma.$queryRaw`select text from a`).toEqual([{ text: "one; two" }]);
  });

  test("a migration that fails leaves nothing of itself, is named, and is applied once its file is repaired", async () => {
    write("1_fine", "create table a (id int);");
    write("2_broken", "create table b (id int); select 1 / 0;");
    await expect(migrate(db.url, { folder })).rejects.toThrow(
      /^Migration 2_broken failed and was rolled back: .*division by zero$/,
    );
    expect(await tableOf(db, "b")).toBeNull();
    expect(await recorded(db)).toMatchObject([{ migration_name: "1_fine" }]);
    expect(await prisma(db, folder).status()).toMatchObject({ failedMigrationNames: [] });
    write("2_broken", "create table b (id int);");
    expect(await migrate(db.url, { folder })).toEqual({ applied: ["2_broken"] });
  });

  test("a process that is killed between two statements leaves nothing half done, and the next one applies the file", async () => {
    write("1_cut_off", "create table a (id int); select pg_sleep(3600); create table b (id int);");
    const source = join(migrationsFolder(), "../../packages/common/dist/database/migrate.js");
    const script = `const { migrate } = await import(${JSON.stringify(source)}); await migrate(...process.argv.slice(1).map((a, i) => i ? { folder: a } : a));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, db.url, folder], { stdio: "ignore" });
    try {
      await eventually(async () => expect(await sleepingStatements()).toBe(1), { timeoutMs: 60_000 });
    } finally {
      child.kill("SIGKILL");
    }
    // The server itself notices that its client is gone only when the statement ends.
    await db.database.prisma.$executeRaw`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'herald-migrate'`;
    write("1_cut_off", "create table a (id int); create table b (id int);");
    expect(await migrate(db.url, { folder })).toEqual({ applied: ["1_cut_off"] });
    expect([await tableOf(db, "a"), await tableOf(db, "b")]).toEqual(["a", "b"]);
  });

  async function sleepingStatements(): Promise<number> {
    const [row] = await db.database.prisma.$queryRaw<[{ count: number }]>`
      select count(*)::int from pg_stat_activity
      where datname = current_database() and application_name = 'herald-migrate' and wait_event = 'PgSleep'`;
    return row.count;
  }

  test("a file may opt out of the transaction, also while other processes wait for their turn", async () => {
    write("1_table", "create table a (id int);");
    write("2_index", "-- herald: no transaction\ncreate index concurrently a_id on a (id);");
    const results = await Promise.all(Array.from({ length: 3 }, () => migrate(db.url, { folder })));
    expect(results.flatMap(({ applied }) => applied)).toEqual(["1_table", "2_index"]);
    expect(await tableOf(db, "a_id")).toBe("a_id");
    expect(await prisma(db, folder).status()).toMatchObject(UP_TO_DATE);
  });

  test("a migration that would deadlock with a transaction steps back, so that this one and others get through, and is applied when the lock is free", async () => {
    write("1_tables", "create table a (id int); create table b (id int);");
    await migrate(db.url, { folder });
    write("2_columns", "alter table b add column text text; alter table a add column text text;");
    const { prisma: client } = db.database;
    const progress: string[] = [];
    const migrating = await client.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`lock table a in access share mode`;
        const result = migrate(db.url, { folder, onProgress: (text) => progress.push(text) });
        result.catch(() => {}); // It is awaited below.
        const waiting = () => client.$queryRaw`select pid from pg_locks where relation = 'a'::regclass and not granted`;
        await eventually(async () => expect(await waiting()).toHaveLength(1), { timeoutMs: 60_000 });
        expect(await transaction.$queryRaw`select id from b`).toEqual([]);
        await Promise.race([
          result,
          eventually(() => expect(progress).toContain("waiting for a lock that 2_columns needs"), {
            timeoutMs: 60_000,
          }),
        ]);
        expect(await client.$queryRaw`select id from a`).toEqual([]);
        expect(await recorded(db)).toHaveLength(1);
        return { result };
      },
      { timeout: 170_000 },
    );
    expect(await migrating.result).toEqual({ applied: ["2_columns"] });
  });

  test("a migration that failed outside a transaction is refused until it is marked as rolled back", async () => {
    write("1_table", "create table a (id int); insert into a values (1), (1);");
    await migrate(db.url, { folder });
    write("2_index", "-- herald: no transaction\ncreate unique index concurrently a_id on a (id);");
    await expect(migrate(db.url, { folder })).rejects.toThrow(
      /^Migration 2_index failed and may have left a part of itself: could not create unique index/,
    );
    expect(await prisma(db, folder).status()).toMatchObject({ failedMigrationNames: ["2_index"] });
    const refused = migrate(db.url, { folder });
    await expect(refused).rejects.toThrow(/^Migration 2_index failed, or was cut off \(could not create unique/);
    const advice = await refused.catch(
      ({ message }: Error) => /update _prisma_migrations .*$/.exec(message)?.[0] ?? "",
    );
    await db.database.prisma.$executeRawUnsafe("drop index a_id");
    await db.database.prisma.$executeRawUnsafe("delete from a");
    await db.database.prisma.$executeRawUnsafe(advice as string);
    expect(await migrate(db.url, { folder })).toEqual({ applied: ["2_index"] });
    expect(await prisma(db, folder).status()).toMatchObject(UP_TO_DATE);
  });

  test.each([
    ["was applied with another text than this Herald's", "checksum = 'another'"],
    ["failed, or was cut off, and may have left a part of itself", "finished_at = null"],
  ])("a migration that %s is refused, and nothing is applied", async (refusal, recordedAs) => {
    write("1_fine", "create table a (id int);");
    await migrate(db.url, { folder });
    await db.database.prisma.$executeRawUnsafe(`update _prisma_migrations set ${recordedAs}`);
    write("2_later", "create table b (id int);");
    await expect(migrate(db.url, { folder })).rejects.toThrow(`Migration 1_fine ${refusal}`);
    expect(await tableOf(db, "b")).toBeNull();
  });

  test("a database that a newer Herald migrated is left alone", async () => {
    write("1_fine", "");
    write("2_newer", "");
    await migrate(db.url, { folder });
    rmSync(join(folder, "2_newer"), { recursive: true });
    expect(await migrate(db.url, { folder })).toEqual({ applied: [] });
  });
});
