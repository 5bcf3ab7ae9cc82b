import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunOptions, type RunResult, runUnderLoad } from "../run.ts";
import { openWorld, type World } from "../world/open-world.ts";
import type { Servers, ServersOptions } from "../world/servers.ts";
import type { RigTimes } from "../world/settings.ts";
import type { ScenarioOptions, ScenarioResult } from "./scenario.ts";

type Run = (parts: Pick<RunOptions, "tenants" | "outages" | "pauses" | "disturb">) => Promise<RunResult>;

/** Opens a world, lets a scenario happen in it, and ends it; where something was found, its logs and history stay. */
export async function inWorld<S extends Servers>(
  options: ScenarioOptions,
  { startServers, times }: { startServers: (options: ServersOptions) => Promise<S>; times: RigTimes },
  happen: (world: World<S>, run: Run) => Promise<Omit<ScenarioResult, "folder">>,
): Promise<ScenarioResult> {
  const { disposable, pause, progress, onOpened } = options;
  const world = await openWorld({ startServers, times, disposable, pause, progress });
  onOpened(() => world.close({ keepFolder: false }));
  let keepFolder = false;
  try {
    const result = await happen(world, (parts) => runUnderLoad(world, { ...options, ...parts, times }));
    keepFolder = !result.verdict.passed || result.complaints.length > 0;
    if (keepFolder) await writeFile(join(world.folder, "history.json"), JSON.stringify(result.history));
    return { ...result, folder: world.folder };
  } finally {
    progress("Ending everything");
    await world.close({ keepFolder });
  }
}
