import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Migration {
  /** The name of its folder. Migrations are applied in the order of their names. */
  name: string;
  sql: string;
  /** The SHA-256 of the migration's file, in hex digits. Prisma stores the same value in its table of migrations. */
  checksum: string;
}

/** A file that begins with this runs outside a transaction. It holds one statement, such as `create index concurrently`. */
export const NO_TRANSACTION = "-- herald: no transaction";

/**
 * The repository's `prisma/migrations`, found upward from this module: the same from the sources, from the build, and from
 * an image that holds `prisma/` above the packages.
 */
export function migrationsFolder(start = dirname(fileURLToPath(import.meta.url))): string {
  for (let folder = start; ; folder = dirname(folder)) {
    const candidate = join(folder, "prisma", "migrations");
    if (existsSync(join(candidate, "migration_lock.toml"))) return candidate;
    if (folder === dirname(folder)) {
      throw new Error(`No prisma/migrations folder in ${start} or above it. Deploy prisma/ beside packages/.`);
    }
  }
}

/** Reads the migrations of a folder, in the order in which they are applied. */
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
