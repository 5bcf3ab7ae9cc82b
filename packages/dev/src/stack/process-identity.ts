import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Which process a pid meant when it was written down. Pids are used again: one that was read from a file names the same
 * process only if that process was also started at the same time.
 */
export interface ProcessIdentity {
  pid: number;
  /** When the process started, as the system tells it; opaque, for comparing. */
  startedAt: string;
}

/** The running process of that pid, or undefined where there is none (a zombie counts as none). */
export function identify(pid: number): ProcessIdentity | undefined {
  const startedAt = process.platform === "linux" ? startFromProc(pid) : startFromPs(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** Whether that very process still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/** The command line of a process, its arguments joined by blanks; empty where there is no such process. */
export function commandLine(pid: number): string {
  try {
    if (process.platform !== "linux")
      return execFileSync("ps", ["-ww", "-o", "command=", "-p", `${pid}`], quiet).trim();
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
  } catch {
    return "";
  }
}

const quiet: ExecFileSyncOptionsWithStringEncoding = { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };

/** The process that started it, undefined where there is no such process. */
export function parentOf(pid: number): number | undefined {
  if (process.platform === "linux") return Number(statFields(pid)?.[1]) || undefined;
  try {
    return Number(execFileSync("ps", ["-o", "ppid=", "-p", `${pid}`], quiet)) || undefined;
  } catch {
    return undefined;
  }
}

function startFromProc(pid: number): string | undefined {
  const fields = statFields(pid);
  const [state, started] = [fields?.[0], fields?.[19]];
  return state === "Z" || state === "X" ? undefined : started;
}

/** Of /proc/<pid>/stat, from the state on. The name before it is in brackets and may hold blanks and brackets itself. */
function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const [state, ...started] = execFileSync("ps", ["-o", "stat=,lstart=", "-p", `${pid}`], quiet)
      .trim()
      .split(/\s+/);
    return state === undefined || state === "" || state.startsWith("Z") ? undefined : started.join(" ");
  } catch {
    return undefined;
  }
}
