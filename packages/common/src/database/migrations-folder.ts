import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MigrationList } from "@prisma/schema-engine-wasm";

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

/** Reads the migrations in the shape that Prisma's engine takes, in the order of their names. */
export function readMigrations(folder: string): MigrationList {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return {
    baseDir: folder,
    lockfile: { path: "migration_lock.toml", content: readFileSync(join(folder, "migration_lock.toml"), "utf8") },
    shadowDbInitScript: "",
    migrationDirectories: names.map((name) => ({
      path: name,
      migrationFile: {
        path: "migration.sql",
        content: { tag: "ok", value: readFileSync(join(folder, name, "migration.sql"), "utf8") },
      },
    })),
  };
}
