import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

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

/** The command line of a process, its arguments joined by blanks; empty where there is no such process. */
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
