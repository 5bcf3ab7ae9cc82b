import { runCommand } from "@herald/dev/commands/run-command";
import { projectFolder } from "@herald/dev/stack/folders";
import { layerFaults } from "../layers.ts";

const HELP = `Checks that each package imports only what its layer may import; a part of pnpm check.

  node scripts/docs/dist/commands/layers.js`;

await runCommand(HELP, async () => {
  const faults = layerFaults(projectFolder());
  if (faults.length > 0) throw new Error(faults.join("\n"));
});
