import { cpus, loadavg, totalmem } from "node:os";
import type { RowResult } from "./run-row.ts";

/** What the figures were measured on. `loadBefore` above zero means that others worked on it too. */
export interface Machine {
  cores: number;
  processor: string;
  memoryGibibytes: number;
  node: string;
  /** Mean number of processes that wanted a core in the minute before the run. */
  loadBefore: number;
}

export function machine(): Machine {
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model ?? "unknown",
    memoryGibibytes: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(1)),
  };
}

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
  baseline: string | undefined;
  rows: RowResult[];
}
