import { readFileSync, writeFileSync } from "node:fs";

/** Forgets how much memory a process has had at the most; does nothing where there is no /proc. */
export function resetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // It has ended, or there is no /proc.
  }
}

/** The most resident memory that a process has had since the last reset, in MiB; NaN where nobody knows. */
export function peakMemoryMebibytes(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
  } catch {
    return Number.NaN;
  }
}
