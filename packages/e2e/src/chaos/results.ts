import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { ChaosReport } from "./report.ts";

/** A run that was saved, with the code that it broke. */
export interface SavedRun extends ChaosReport {
  commit: string;
  /** As 2026-11-22. */
  date: string;
}

/** What a file of `--save` holds: the latest run of each scenario and seed. */
export interface SavedRuns {
  runs: SavedRun[];
}

export function readRuns(file: string): SavedRuns {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as SavedRuns) : { runs: [] };
}

/** Saves a run in the place of an earlier one of the same scenario and seed. */
export function saveRun(file: string, run: SavedRun): void {
  const isSame = ({ scenario, seed }: SavedRun) => scenario === run.scenario && seed === run.seed;
  const others = readRuns(file).runs.filter((each) => !isSame(each));
  const runs = [...others, run].sort(
    (one, other) => one.scenario.localeCompare(other.scenario) || one.seed - other.seed,
  );
  writeFileSync(file, `${JSON.stringify({ runs }, null, 2)}\n`);
}
