import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ChaosEnvironment, type EnvironmentOptions, openEnvironment } from "../environment/open-environment.ts";
import type { Servers } from "../environment/servers.ts";
import { planSteadyTenants } from "../plan/tenants.ts";
import { type RunOptions, type RunResult, runUnderLoad } from "../run.ts";

export interface ScenarioOptions extends Pick<RunOptions, "seed" | "seconds" | "rate" | "pause" | "progress"> {
  /** PostgreSQL needn't wait for the disk. */
  disposable: boolean;
  /** Called with a function that ends everything that the scenario has started, in case it's interrupted. */
  onOpened: (close: () => Promise<void>) => void;
}

export interface ScenarioResult extends RunResult {
  /** Where the logs of the run are; deleted unless something was found. */
  folder: string;
  /** This scenario's own figures, beside the verdict. */
  extra: Record<string, string | number>;
  /** Faults that this scenario finds beside the verdict; empty if all is well. */
  complaints: string[];
}

export type Scenario = (options: ScenarioOptions) => Promise<ScenarioResult>;

type RunParts = Pick<RunOptions, "tenants" | "outages" | "pauses" | "disturb" | "manual">;
/** Without other tenants, all are steady, and none is paused. */
type Run = (parts: Partial<RunParts> & Pick<RunParts, "disturb">) => Promise<RunResult>;

/** Opens an environment, lets a scenario happen in it, and ends it; where something was found, its logs and history stay. */
export async function inEnvironment<S extends Servers>(
  options: ScenarioOptions,
  { startServers, times }: Pick<EnvironmentOptions<S>, "startServers" | "times">,
  happen: (environment: ChaosEnvironment<S>, run: Run) => Promise<Omit<ScenarioResult, "folder">>,
): Promise<ScenarioResult> {
  const { disposable, pause, progress, onOpened } = options;
  const environment = await openEnvironment({ startServers, times, disposable, pause, progress });
  onOpened(() => environment.close({ keepFolder: false }));
  const steady = { tenants: planSteadyTenants(options.seed), outages: [], pauses: [] };
  let keepFolder = false;
  try {
    const result = await happen(environment, (parts) =>
      runUnderLoad(environment, { ...options, ...steady, ...parts, times }),
    );
    keepFolder = !result.verdict.passed || result.complaints.length > 0;
    if (keepFolder) await writeFile(join(environment.folder, "history.json"), JSON.stringify(result.history));
    return { ...result, folder: environment.folder };
  } finally {
    progress("Ending everything");
    await environment.close({ keepFolder });
  }
}
