import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { migrate } from "../../src/database/migrate.ts";
import { migrationsFolder } from "../../src/database/migrations-folder.ts";

interface MigrationRow {
  migration_name: string;
  checksum: string;
  finished: boolean;
  logs: string | null;
}

function recorded(database: ReturnType<typeof useDatabase>): Promise<MigrationRow[]> {
  return database.database.prisma.$queryRaw<MigrationRow[]>`
    SELECT migration_name, checksum, finished_at IS NOT NULL AS finished, logs
    FROM _prisma_migrations ORDER BY started_at`;
}

describe("the repository's migrations", () => {
  const empty = useDatabase({ migrated: false });
  const names = readdirSync(migrationsFolder()).filter((name) => !name.endsWith(".toml"));

  test("of several processes that migrate at once, one does it and all succeed", async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => migrate(empty.url)));
    expect(results.flatMap((result) => result.applied)).toEqual(names);
  });

  test("they are recorded as prisma migrate deploy records them", async () => {
    const checksum = (name: string) =>
      createHash("sha256")
        .update(readFileSync(join(migrationsFolder(), name, "migration.sql")))
        .digest("hex");
    expect(await recorded(empty)).toEqual(
      names.map((name) => ({ migration_name: name, checksum: checksum(name), finished: true, logs: null })),
    );
  });

  test("a database that is up to date is left alone", async () => {
    expect(await migrate(empty.url)).toEqual({ applied: [] });
  });
});

describe("a migration", () => {
  const empty = useDatabase({ migrated: false });
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "herald-migrations-"));
    writeFileSync(join(folder, "migration_lock.toml"), 'provider = "postgresql"\n');
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  function write(name: string, sql: string): void {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "migration.sql"), sql);
  }

  test("may hold semicolons within a literal", async () => {
    write("1_semicolons", "CREATE TABLE a (text TEXT); INSERT INTO a VALUES ('one; two');");
    await migrate(empty.url, { folder });
    expect(await empty.database.prisma.$queryRaw`SELECT text FROM a`).toEqual([{ text: "one; two" }]);
  });

  test("that fails leaves nothing of itself, is named, and works once it is repaired", async () => {
    write("1_semicolons", "");
    write("2_broken", "CREATE TABLE b (id INT); SELECT 1 / 0;");
    await expect(migrate(empty.url, { folder })).rejects.toThrow(
      /^Migration 2_broken failed and was rolled back: .*division by zero$/,
    );
    expect(await empty.database.prisma.$queryRaw`SELECT to_regclass('b')::text AS b`).toEqual([{ b: null }]);
    write("2_broken", "CREATE TABLE b (id INT);");
    expect(await migrate(empty.url, { folder })).toEqual({ applied: ["2_broken"] });
  });

  test("that was cut off by a crash is applied by the next try", async () => {
    write("1_semicolons", "");
    write("2_broken", "");
    write("3_cut_off", "CREATE TABLE c (id INT);");
    await empty.database.prisma.$executeRaw`
      INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, applied_steps_count)
      VALUES ('3', 'as it was', '3_cut_off', now(), 0)`;
    expect(await migrate(empty.url, { folder })).toEqual({ applied: ["3_cut_off"] });
  });
});
