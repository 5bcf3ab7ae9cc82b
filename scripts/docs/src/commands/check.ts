import { migrationsFolder, readMigrations } from "@herald/common/database/migrations-folder";
import { runCommand } from "@herald/dev/commands/run-command";
import { projectFolder } from "@herald/dev/stack/folders";
import { layerFaults } from "../layers.ts";
import { migrationFaults } from "../migrations/faults.ts";

const HELP = `Checks that each package imports only what its layer may import, and that the version before can work on with each migration; a part
of pnpm check.

  node scripts/docs/dist/commands/check.js`;

await runCommand(HELP, async () => {
  const faults = [...layerFaults(projectFolder()), ...migrationFaults(readMigrations(migrationsFolder()))];
  if (faults.length > 0) throw new Error(faults.join("\n"));
});
