import type { RunResult } from "../run.ts";

export interface ScenarioOptions {
  seed: number;
  seconds: number;
  rate: number;
  /** PostgreSQL needn't wait for the disk. */
  disposable: boolean;
  pause: (durationMs: number) => Promise<void>;
  progress: (text: string) => void;
  /** Told how to end everything that the scenario has started, for when it's interrupted. */
  onOpened: (close: () => Promise<void>) => void;
}

export interface ScenarioResult extends RunResult {
  /** Where the logs of the run are; deleted unless something was found. */
  folder: string;
  /** What this scenario wants to be said besides the verdict. */
  extra: Record<string, string | number>;
  /** What this scenario demands besides the verdict; empty where all is well. */
  complaints: string[];
}

export type Scenario = (options: ScenarioOptions) => Promise<ScenarioResult>;
