import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";

/**
 * Which process a pid meant when it was written down. Pids are used again: one that was read from a file names the same
 * process only if that process has the same mark.
 */
export interface ProcessIdentity {
  pid: number;
  /** Part of the command line that only this process has. */
  mark: string;
}

/** Whether that very process still runs (a zombie does not). */
export function isAlive({ pid, mark }: ProcessIdentity): boolean {
  const line = commandLine(pid);
  return line !== "" && line.includes(mark);
}

/** The command line of a process, its arguments joined by blanks; empty if there is no such process. */
export function commandLine(pid: number): string {
  try {
    if (process.platform === "linux") {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
    }
    const args = ["-ww", "-o", "command=", "-p", `${pid}`];
    return execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}

/** Locks a file for this process, or returns the process that has the lock. A lock whose process has ended is taken over. */
export function acquireLock(file: string): ProcessIdentity | undefined {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ pid: process.pid, mark: commandLine(process.pid) }), { mode: 0o600 });
  try {
    for (;;) {
      if (linked(draft, file)) return undefined;
      const holder = readIdentity(file);
      if (holder !== undefined && isAlive(holder)) return holder;
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A link appears together with its content, and fails where the file exists: of two processes that start at once, one gets it. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

export function releaseLock(file: string): void {
  if (readIdentity(file)?.pid === process.pid) rmSync(file, { force: true });
}

/** Undefined if there is no such file, or its process was killed while it wrote it. */
function readIdentity(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
