import type { MigrationList } from "@prisma/schema-engine-wasm";
import pg from "pg";
import { migrationsFolder, readMigrations } from "./migrations-folder.ts";
import { assertSupported } from "./postgres-version.ts";
import { type SchemaEngine, withSchemaEngine } from "./schema-engine.ts";

export interface MigrationResult {
  /** Names of the migrations that this call applied; empty when the database was up to date. */
  applied: string[];
}

export interface MigrateOptions {
  /** Folder of migrations; the repository's own by default. */
  folder?: string;
}

/**
 * Herald's own key: Prisma's engine takes a lock too (72707369), but gives up after 10 s of waiting for it, and services
 * that start beside a long migration should wait for as long as that takes.
 */
const MIGRATION_LOCK = 4_737_253;

/**
 * Brings a database's schema up to date, as `prisma migrate deploy` does, and writes the same `_prisma_migrations`.
 * Safe when several processes start at once: the first applies, the others wait for it and find nothing to do.
 *
 * A migration is one transaction. One that failed or was cut off has left nothing, and is tried again by the next call.
 *
 * @param url of a PostgreSQL 18 or newer; its user must own the schema
 * @throws when the server is too old, or when a migration fails, naming it and why
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<MigrationResult> {
  const migrationsList = readMigrations(options.folder ?? migrationsFolder());
  return await withMigrationLock(
    url,
    async () => await withSchemaEngine(url, (engine) => apply(engine, migrationsList)),
  );
}

async function apply(engine: SchemaEngine, migrationsList: MigrationList): Promise<MigrationResult> {
  const filters = { externalTables: [], externalEnums: [] };
  const { failedMigrationNames } = await engine.diagnoseMigrationHistory({
    migrationsList,
    filters,
    optInToShadowDatabase: false,
  });
  for (const migrationName of failedMigrationNames) await engine.markMigrationRolledBack({ migrationName });
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters });
    return { applied: appliedMigrationNames };
  } catch (error) {
    throw inWords(error);
  }
}

/** The engine's message ends with a trace of its own functions, and names the migration only there. */
function inWords(error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  const name = /migration_name="([^"]+)"/.exec(text)?.[1] ?? "";
  const why = (text.split(/\n\s+0: /)[0] ?? text).replace(/^external connector error\s*/, "");
  return new Error(`Migration ${name} failed and was rolled back: ${why}`, { cause: error });
}

/** Holds the lock on a connection of its own for as long as the task runs; PostgreSQL frees it if the process dies. */
async function withMigrationLock<T>(url: string, task: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: "herald-migrate" });
  // A connection that breaks in the middle fails the task through its own connection; unheard, it would end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    await assertPostgresVersion(client);
    await client.query("SELECT pg_advisory_lock($1)", [MIGRATION_LOCK]);
    return await task();
  } finally {
    await client.end();
  }
}

async function assertPostgresVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; text: string }>(
    "SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS text",
  );
  for (const { number, text } of rows) assertSupported(number, text);
}
