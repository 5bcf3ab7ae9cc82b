import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

export interface ProcessSpec {
  /** Names the process in messages. */
  name: string;
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  /** System user to run as; only root can choose. */
  user?: { uid: number; gid: number };
  /** The signal that asks for an orderly end, and the one that makes an end sure. */
  signals?: { orderly: NodeJS.Signals; sure: NodeJS.Signals };
  /** Called with every line of output. */
  onLine?: (line: string) => void;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The latest lines of its output, oldest first. */
  lastLines(): string[];
  /** Ends the process and its group: asks first, and after the grace makes sure. */
  stop(graceMs?: number): Promise<void>;
}

const KEPT_LINES = 40;

/**
 * Starts a process in a group of its own, so that a ctrl-C at the terminal reaches only this one, which then ends its
 * children in the right order. It ends with this one, however that ends.
 */
export async function startProcess(spec: ProcessSpec): Promise<RunningProcess> {
  const options: SpawnOptions = {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...(spec.env && { env: spec.env }),
    ...spec.user,
  };
  const child = spawn(spec.command, spec.args, options);
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new Error(`${spec.name} did not start: ${error.message}`, { cause: error })));
  });
  const pid = child.pid as number;
  const signals = spec.signals ?? { orderly: "SIGTERM", sure: "SIGKILL" };
  const guard = guardGroup(pid, signals.sure);
  const exited: RunningProcess["exited"] = new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      // Its number may soon belong to another group.
      guard.kill("SIGKILL");
      resolve({ code, signal });
    });
  });
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
 * Asks again and again, until what was started is ready: `ask` throws as long as it is not.
 *
 * @throws after so long, or when the child has ended that should answer; with its last lines of output
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

function collectLines(child: ChildProcess, onLine: ((line: string) => void) | undefined): () => string[] {
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine?.(line);
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

/**
 * Starts a shell that ends a process group when this process has ended, also after `kill -9`, when this process cannot do so
 * itself. The end of its standard input tells the shell.
 */
function guardGroup(group: number, signal: NodeJS.Signals): ChildProcess {
  const end = `kill -${signal.slice(3)} -${group}; sleep 5; kill -KILL -${group}`;
  const script = `trap '' INT TERM HUP QUIT; read -r _; ${end}`;
  const guard = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // Nothing here waits for the guard. Without it, everything works except that end.
  guard.on("error", () => {});
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}
