import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Machine } from "./machine.ts";
import type { RowResult } from "./run-row.ts";

/** One run of the bench: what `--json` prints. */
export interface BenchReport {
  machine: Machine;
  /** Of the code that was measured, as git names it; with "-dirty" where code was not committed. */
  commit: string;
  /** As 2026-11-22. */
  date: string;
  seconds: number;
  rounds: number;
  /** The commit that figures are set beside, as it was asked for. */
  baseline?: string | undefined;
  rows: RowResult[];
}

/** What a file of `--save` holds: the latest result of each row, with the run that it is from. */
export interface StoredResults {
  runs: BenchReport[];
}

export function readResults(file: string): StoredResults {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as StoredResults) : { runs: [] };
}

export function writeResults(file: string, results: StoredResults): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

/** Puts a run's rows in the place of those that the results have; a run of which no row is left goes. Pure. */
export function mergeResults({ runs }: StoredResults, run: BenchReport): StoredResults {
  const fresh = new Set(run.rows.map(keyOf));
  const kept = runs.map((earlier) => ({ ...earlier, rows: earlier.rows.filter((row) => !fresh.has(keyOf(row))) }));
  return { runs: [...kept.filter(({ rows }) => rows.length > 0), run] };
}

function keyOf({ name, growth }: RowResult): string {
  return `${name}/${growth ?? ""}`;
}
