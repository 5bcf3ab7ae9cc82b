import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../config/read-config.ts";
import type { Explanation } from "../security/connection-fault.ts";
import { DATABASE_INFO, type DatabaseInfo, placeFault } from "./database-info.ts";
import { sqlStateOf } from "./errors.ts";
import { Prisma } from "./generated/client.ts";
import type { Reads } from "./queries.ts";

export interface Migration {
  /** The name of its folder. Migrations are applied in the order of their names. */
  name: string;
  sql: string;
  /** The SHA-256 of the migration's file, in hex digits. Prisma stores the same value in its table of migrations. */
  checksum: string;
}

/** A file that begins with this runs outside a transaction. It holds one statement, such as `create index concurrently`. */
export const NO_TRANSACTION = "-- herald: no transaction";

/** Found upward from this module: the same from the sources, from the build, and from an image that holds `prisma/` above the packages. */
export function migrationsFolder(start = dirname(fileURLToPath(import.meta.url))): string {
  for (let folder = start; ; folder = dirname(folder)) {
    const candidate = join(folder, "prisma", "migrations");
    if (existsSync(join(candidate, "migration_lock.toml"))) return candidate;
    if (folder === dirname(folder)) {
      throw new Error(`No prisma/migrations folder in ${start} or above it. Deploy prisma/ beside packages/.`);
    }
  }
}

export function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return names.map((name) => {
    const file = readFileSync(join(folder, name, "migration.sql"));
    return { name, sql: file.toString("utf8"), checksum: createHash("sha256").update(file).digest("hex") };
  });
}

export interface AppliedMigration {
  name: string;
  checksum: string;
  finished: boolean;
}

/** The fault if a database does not have the tables of these migrations. Further migrations, of a newer Herald, are none. */
export function migrationsFault(
  migrations: readonly { name: string; checksum: string }[],
  applied: readonly AppliedMigration[],
): Explanation | undefined {
  const cutOff = applied.find(({ finished }) => !finished);
  if (cutOff) {
    return {
      what: `Migration ${cutOff.name} failed, or was cut off.`,
      remedy: "Run herald migrate: it says what may be left of it, and how to go on.",
    };
  }
  const known = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  const missing = migrations.filter(({ name }) => !known.has(name));
  if (missing.length > 0) {
    return {
      what: `The database lacks ${missing.length} of ${migrations.length} migrations: ${missing.map(({ name }) => name).join(", ")}.`,
      remedy: "Run `herald migrate` as the owner of the tables, before the services start.",
    };
  }
  const changed = migrations.find(({ name, checksum }) => known.get(name) !== checksum);
  if (!changed) return undefined;
  return {
    what: `Migration ${changed.name} was applied with another text than this Herald's.`,
    remedy: "Run the Herald that this database was migrated by; its migrations may not be edited.",
  };
}

const UNDEFINED_TABLE = "42P01";

/** The migrations that a database has; none if it has no table of them. */
export async function appliedMigrations(reads: Reads): Promise<AppliedMigration[]> {
  const read = reads.$queryRaw<AppliedMigration[]>`
    select migration_name as name, checksum, finished_at is not null as finished
    from public._prisma_migrations where rolled_back_at is null`;
  return await read.catch((error: unknown) => {
    if (sqlStateOf(error) === UNDEFINED_TABLE) return [];
    throw error;
  });
}

/** @throws ConfigError if the database's tables are not this Herald's, or its statements would not find them */
export async function assertMigrated(reads: Reads): Promise<void> {
  const [info] = await reads.$queryRaw<DatabaseInfo[]>`${Prisma.raw(DATABASE_INFO)}`;
  if (info) assertNone(placeFault(info));
  assertNone(migrationsFault(readMigrations(migrationsFolder()), await appliedMigrations(reads)));
}

function assertNone(fault: Explanation | undefined): void {
  if (fault) throw new ConfigError([`${fault.what} ${fault.remedy}`]);
}
