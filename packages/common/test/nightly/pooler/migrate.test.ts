import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { startTestPooler, type TestPooler, useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { migrate } from "../../../src/database/migrate.ts";
import { migrationsFolder, readMigrations } from "../../../src/database/migrations.ts";

// Ahead of the hook that drops the database: jest runs these in their order.
let pooler: TestPooler | undefined;
let folder = "";
afterAll(async () => {
  await pooler?.stop();
  rmSync(folder, { recursive: true, force: true });
});
const db = useDatabase({ migrated: false });
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "herald-migrations-"));
  pooler = await startTestPooler(db.url);
}, STACK_TIMEOUT_MS);

const throughPooler = () => (pooler as TestPooler).url;

test("of several processes that migrate at once through a pooler of transactions, one applies all migrations and all succeed", async () => {
  const names = readMigrations(migrationsFolder()).map(({ name }) => name);
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(throughPooler())));
  expect(results.flatMap((result) => result.applied)).toEqual(names);
  expect(results.every(({ leftToOwner }) => leftToOwner === undefined)).toBe(true);
});

test("after a migration through a pooler no lock is left behind", async () => {
  expect(await migrate(throughPooler())).toEqual({ applied: [] });
  const locks = await db.database.prisma.$queryRaw`
    select pid from pg_locks
    where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
  expect(locks).toEqual([]);
});

test("a migration outside a transaction is refused behind a pooler, with what to do, and leaves nothing", async () => {
  writeFileSync(join(folder, "migration_lock.toml"), 'provider = "postgresql"\n');
  mkdirSync(join(folder, "2_index"));
  const sql = "-- herald: no transaction\ncreate index concurrently an_index on _prisma_migrations (logs);";
  writeFileSync(join(folder, "2_index", "migration.sql"), sql);
  await expect(migrate(throughPooler(), { folder })).rejects.toThrow(
    /^Migration 2_index runs outside a transaction, .*Point DATABASE_URL at PostgreSQL itself for herald migrate/,
  );
  expect(await migrate(db.url, { folder })).toEqual({ applied: ["2_index"] });
});
