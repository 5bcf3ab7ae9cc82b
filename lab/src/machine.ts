import { cpus, loadavg, totalmem } from "node:os";

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
