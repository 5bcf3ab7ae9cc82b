import { sqlStateOf } from "@herald/common/database/errors";
import { migrationsFolder, readMigrations } from "@herald/common/database/migrations-folder";
import type { Check } from "../check.ts";
import { type Finding, fault, ok } from "../finding.ts";
import { plural } from "../report.ts";
import type { DatabaseSubject } from "./subject.ts";

export interface AppliedMigration {
  name: string;
  checksum: string;
  finished: boolean;
}

const UNDEFINED_TABLE = "42P01";

export const schema: Check<DatabaseSubject> = {
  name: "schema",
  async examine({ session }) {
    const applied = await session
      .query<AppliedMigration>(
        `select migration_name as name, checksum, finished_at is not null as finished
         from _prisma_migrations where rolled_back_at is null`,
      )
      .catch((error: unknown) => {
        if (sqlStateOf(error) === UNDEFINED_TABLE) return [];
        throw error;
      });
    return schemaFinding(readMigrations(migrationsFolder()), applied);
  },
};

export function schemaFinding(
  migrations: readonly { name: string; checksum: string }[],
  applied: readonly AppliedMigration[],
): Finding {
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
  if (changed) {
    return fault(
      `Migration ${changed.name} was applied with another text than this Herald's.`,
      "Run the Herald that this database was migrated by; its migrations may not be edited.",
    );
  }
  const newer = applied.length - migrations.length;
  return ok(newer > 0 ? `Up to date, and ${plural(newer, "migration")} newer than this Herald.` : "Up to date.");
}
