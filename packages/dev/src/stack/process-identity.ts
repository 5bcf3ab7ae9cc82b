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
    return ps("command=", pid);
  } catch {
    return "";
  }
}

/** The process that started it, undefined where there is no such process. */
export function parentOf(pid: number): number | undefined {
  try {
    if (process.platform !== "linux") return Number(ps("ppid=", pid));
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

function ps(field: string, pid: number): string {
  const args = ["-ww", "-o", field, "-p", `${pid}`];
  return execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
