import { migrationsFolder, readMigrations } from "@herald/common/database/migrations-folder";
import { runCommand } from "@herald/dev/commands/run-command";
import { migrationFaults } from "../migrations/faults.ts";

const HELP = `Checks that the version before can work on with each migration; a part of pnpm check.

  node scripts/docs/dist/commands/migrations.js`;

await runCommand(HELP, async () => {
  const faults = migrationFaults(readMigrations(migrationsFolder()));
  if (faults.length > 0) throw new Error(faults.join("\n"));
});
