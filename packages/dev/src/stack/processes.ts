import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine, identify, isAlive, type ProcessIdentity } from "./process-identity.ts";

export interface ProcessSpec {
  /** Names the process in messages, and its pid file. */
  name: string;
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** System user to run as; only root can choose. */
  user?: { uid: number; gid: number };
  /** Where pid files live; a later run finds there what this one could not end. */
  pidFolder: string;
  /** Part of the command line that only this process has: the proof that a pid found later is ours to end. */
  mark: string;
  /** What asks for an orderly end, and what makes an end sure. */
  signals?: { orderly: NodeJS.Signals; sure: NodeJS.Signals };
  /** Called with every line of output. */
  onLine?: (line: string) => void;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<ProcessExit>;
  /** The latest lines of its output, oldest first. */
  lastLines(): string[];
  /** Ends the process and its group: asks first, and after the grace makes sure. */
  stop(graceMs?: number): Promise<void>;
}

interface PidRecord extends ProcessIdentity {
  name: string;
  mark: string;
}

const KEPT_LINES = 40;

interface Running {
  pid: number;
  sure: NodeJS.Signals;
  pidFile: string;
  exited: Promise<unknown>;
}

const running = new Set<Running>();

// The children of this process end with it, however it ends.
process.on("exit", () => {
  for (const child of running) {
    signalGroup(child.pid, child.sure);
    rmSync(child.pidFile, { force: true });
  }
});

/**
 * Starts a process in a group of its own, so that a ctrl-C at the terminal reaches only this one, which then ends its
 * children in the right order.
 */
export async function startProcess(spec: ProcessSpec): Promise<RunningProcess> {
  const options: SpawnOptions = {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...(spec.env && { env: spec.env }),
    ...(spec.cwd && { cwd: spec.cwd }),
    ...spec.user,
  };
  const child = spawn(spec.command, spec.args, options);
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new Error(`${spec.name} did not start: ${error.message}`, { cause: error })));
  });
  const pid = child.pid as number;
  const signals = spec.signals ?? { orderly: "SIGTERM", sure: "SIGKILL" };
  const pidFile = writePidFile(spec, pid);
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) => {
      running.delete(entry);
      releaseGroup(pid);
      rmSync(pidFile, { force: true });
      resolve({ code, signal });
    });
  });
  const entry: Running = { pid, sure: signals.sure, pidFile, exited };
  running.add(entry);
  guardGroup(pid, signals.sure);
  return {
    name: spec.name,
    pid,
    exited,
    lastLines: collectLines(child, spec.onLine),
    stop: async (graceMs = 10_000) => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signals.orderly);
        await Promise.race([exited, sleep(graceMs, undefined, { ref: false })]);
      }
      signalGroup(pid, signals.sure);
      await exited;
    },
  };
}

/**
 * Asks again and again, until what was started is ready.
 *
 * @param ask throws as long as it is not
 * @param child the process that should answer: once it has ended, waiting is pointless
 * @throws with its last lines of output, where it has ended, or after so long
 */
export async function untilReady(
  name: string,
  ask: () => Promise<unknown>,
  { timeoutMs, child }: { timeoutMs: number; child?: RunningProcess | undefined },
): Promise<void> {
  let ended = false;
  void child?.exited.then(() => {
    ended = true;
  });
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      const lines = child ? `Its last lines:\n${child.lastLines().join("\n")}` : "";
      if (ended) throw new Error(`${name} ended while it was starting. ${lines}`);
      if (Date.now() > deadline) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`${name} does not answer after ${timeoutMs / 1000} s: ${reason}. ${lines}`, { cause: error });
      }
    }
    await sleep(50);
  }
}

/** Ends every process that this one started, at once, also those that are still starting. */
export async function endAllNow(): Promise<void> {
  const children = [...running];
  for (const child of children) signalGroup(child.pid, child.sure);
  await Promise.all(children.map((child) => child.exited));
}

function collectLines(child: ChildProcess, onLine: ((line: string) => void) | undefined): () => string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      const complete = (rest + chunk).split("\n");
      rest = complete.pop() ?? "";
      for (const line of complete) {
        lines.push(line);
        if (lines.length > KEPT_LINES) lines.shift();
        onLine?.(line);
      }
    });
  }
  return () => [...lines];
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has no process left.
  }
}

function writePidFile(spec: ProcessSpec, pid: number): string {
  mkdirSync(spec.pidFolder, { recursive: true });
  const file = join(spec.pidFolder, `${spec.name}.json`);
  const record: PidRecord = { name: spec.name, mark: spec.mark, ...(identify(pid) ?? { pid, startedAt: "" }) };
  writeFileSync(file, JSON.stringify(record));
  return file;
}

/**
 * Ends what an earlier run that was killed left running. A recorded pid is touched only if it is the same process: same
 * start time, and a command line with its mark.
 *
 * @returns the names of the processes that were ended
 */
export async function endStaleProcesses(pidFolder: string): Promise<string[]> {
  const ended: string[] = [];
  for (const file of listPidFiles(pidFolder)) {
    const record = readRecord(file);
    if (record !== undefined && isOurs(record)) {
      await end(record);
      ended.push(record.name);
    }
    rmSync(file, { force: true });
  }
  return ended;
}

function listPidFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function readRecord(file: string): PidRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as PidRecord;
  } catch {
    return undefined;
  }
}

function isOurs(record: PidRecord): boolean {
  return isAlive(record) && commandLine(record.pid).includes(record.mark);
}

async function end(record: PidRecord): Promise<void> {
  for (const [signal, patienceMs] of [
    ["SIGTERM", 1_000],
    ["SIGQUIT", 4_000],
    ["SIGKILL", 5_000],
  ] as const) {
    signalGroup(record.pid, signal);
    const deadline = Date.now() + patienceMs;
    while (Date.now() < deadline) {
      if (!isAlive(record)) return;
      await sleep(50);
    }
  }
  throw new Error(
    `${record.name} of an earlier run (process ${record.pid}) does not end. End it by hand, then start again.`,
  );
}

/**
 * A shell that ends the child processes after this process has ended, also after `kill -9`, when this process cannot do so
 * itself. The shell notices by the end of its standard input.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT
groups=' '
while read -r what group signal; do
  case $what in
    add) groups="$groups$group:$signal " ;;
    drop) groups=$(printf '%s' "$groups" | sed "s/ $group:[A-Z0-9]* / /") ;;
  esac
done
[ "$groups" = ' ' ] && exit 0
for entry in $groups; do kill -"\${entry#*:}" -"\${entry%:*}" 2>/dev/null; done
sleep 5
for entry in $groups; do kill -KILL -"\${entry%:*}" 2>/dev/null; done
`;

let guard: ChildProcess | undefined;

/** Asks the guard to end a process group with the given signal when this process has ended. */
function guardGroup(group: number, signal: NodeJS.Signals): void {
  guard ??= startGuard();
  guard.stdin?.write(`add ${group} ${signal.replace("SIG", "")}\n`);
}

/** Cancels the guard for a group that has ended, since its number may soon belong to another group. */
function releaseGroup(group: number): void {
  guard?.stdin?.write(`drop ${group}\n`);
}

function startGuard(): ChildProcess {
  const child = spawn("/bin/sh", ["-c", SCRIPT], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // Nothing here waits for the guard. Without it, everything works except the end after kill -9.
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}
