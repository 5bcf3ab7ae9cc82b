import pg from "pg";
import { migrationsFolder, readMigrations } from "./migrations-folder.ts";
import { withSchemaEngine } from "./schema-engine.ts";

export interface MigrationResult {
  /** Names of the migrations that this call applied; empty when the database was up to date. */
  applied: string[];
}

export interface MigrateOptions {
  /** Folder of migrations; the repository's own by default. */
  folder?: string;
}

/** Since `uuidv7()` is a default of the tables. */
const OLDEST_POSTGRES = 18;

/**
 * Herald's own key: Prisma's engine takes a lock too (72707369), but gives up after 10 s of waiting for it, and services
 * that start beside a long migration should wait for as long as that takes.
 */
const MIGRATION_LOCK = 4_737_253;

/**
 * Brings a database's schema up to date, as `prisma migrate deploy` does, and writes the same `_prisma_migrations`.
 * Safe when several processes start at once: the first applies, the others wait for it and find nothing to do.
 *
 * @param url of a PostgreSQL 18 or newer; its user must own the schema
 * @throws when the server is too old, or when a migration fails (it is rolled back, and recorded as failed)
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<MigrationResult> {
  const migrationsList = readMigrations(options.folder ?? migrationsFolder());
  return await withMigrationLock(url, async () => {
    const filters = { externalTables: [], externalEnums: [] };
    const result = await withSchemaEngine(url, undefined, (engine) =>
      engine.applyMigrations({ migrationsList, filters }),
    );
    return { applied: result.appliedMigrationNames };
  });
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
  const version = rows[0];
  if (version === undefined || version.number < OLDEST_POSTGRES * 10_000) {
    throw new Error(
      `The database server is PostgreSQL ${version?.text}; Herald needs ${OLDEST_POSTGRES} or newer, for uuidv7(). ` +
        "Upgrade the server, or point DATABASE_URL at a newer one.",
    );
  }
}
