import { readFileSync } from "node:fs";

/** The most memory that `herald serve` may take in a small installation, in MiB. A test holds it to this, and the documents promise it. */
export const SERVE_MEBIBYTES = 200;

/**
 * Node's arguments for the heap that V8 takes by itself in a container of so many MiB. A test's process has no container, and V8 goes
 * by the whole machine there: it would let new objects alone take 192 MiB.
 */
export function containerHeap(limitMib: number): string[] {
  return [`--max-old-space-size=${limitMib / 2}`, "--max-semi-space-size=8"];
}

/** The most resident memory that a process has had so far, in MiB. */
export function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}
