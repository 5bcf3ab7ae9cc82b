import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { wrongClock } from "@herald/dev/harness/wrong-clock";
import { projectFolder } from "@herald/dev/stack/folders";
import { freePort } from "@herald/dev/stack/ports";
import { type RunningProcess, startProcess, untilReady as untilAnswers } from "@herald/dev/stack/processes";
import { assertReady } from "@herald/dev/start/services";
import type { HeraldTuning } from "./in-process.ts";

export type ServiceName = "management-api" | "publisher" | "dispatcher";

/** A service as a process of its own, as it runs in production. */
export type ServiceProcess = Awaited<ReturnType<typeof startServiceProcess>>;

export interface ServiceProcessOptions {
  /** Called with every line that it writes. */
  onLine?: (line: string) => void;
  /** Where the built code is, if not in this checkout: another commit's, for a comparison. */
  folder?: string | undefined;
  /** Node's own arguments. */
  nodeArgs?: readonly string[];
  /** By how much the clock of its machine is ahead of the true time. */
  clockAheadMs?: number | undefined;
  /** Values that no environment variable sets; serve has none. */
  tuning?: HeraldTuning | undefined;
  /** False where it may take long, since its database or broker is away; true unless said otherwise. */
  untilReady?: boolean;
}

/** Enough for a machine that is ten times slower than an ordinary one. */
const READY_TIMEOUT_MS = 120_000;

/** Starts a built service, or all three in one process. @throws when it ends before it is ready, with its last lines */
export async function startServiceProcess(
  name: ServiceName | "serve",
  settings: Record<string, string>,
  options: ServiceProcessOptions = {},
) {
  const { onLine, folder = projectFolder(), nodeArgs = [], clockAheadMs, tuning, untilReady: waits = true } = options;
  const clock = clockAheadMs === undefined ? undefined : await wrongClock(clockAheadMs);
  const [main, ...args] = entryOf(name, folder, tuning);
  const [port, metricsPort] = [await freePort(), await freePort()];
  const child = await startProcess({
    name: `${name}-${randomUUID()}`,
    command: process.execPath,
    args: [...nodeArgs, main, ...args],
    env: {
      PATH: process.env.PATH,
      ...settings,
      ...clock?.settings,
      PORT: `${port}`,
      OPERATIONS_PORT: `${metricsPort}`,
    },
    ...(onLine && { onLine }),
  });
  if (clock) void child.exited.then(clock.remove);
  const operationsUrl = `http://127.0.0.1:${metricsPort}`;
  try {
    if (waits) await untilReady(child, operationsUrl);
  } catch (error) {
    await child.stop(0);
    throw error;
  }
  return {
    process: child,
    /** Where /healthz, /readyz and /metrics are. */
    operationsUrl,
    /** Its public port; only the management API has one, and serve. */
    port,
    /** Resolves when it is ready for work. @throws when it ends before that, or takes too long */
    ready: () => untilReady(child, operationsUrl),
    /** Sets its machine's clock, a moment later, where it was started with `clockAheadMs`. */
    setClock(aheadMs: number) {
      if (!clock) throw new Error(`${child.name} goes by this machine's clock.`);
      clock.set(aheadMs);
    },
    /** `kill -9`. */
    kill: async () => {
      process.kill(child.pid, "SIGKILL");
      await child.exited;
    },
    /** As an orchestrator does it: SIGTERM, and SIGKILL after 30 s. */
    stop: () => child.stop(30_000),
  };
}

function untilReady(child: RunningProcess, url: string): Promise<void> {
  return untilAnswers(child.name, () => assertReady(`${url}/readyz`), { timeoutMs: READY_TIMEOUT_MS, child });
}

/** The built file that runs a service, and its arguments. */
function entryOf(name: ServiceName | "serve", folder: string, tuning?: HeraldTuning): [string, ...string[]] {
  if (name === "serve") return [join(folder, "packages", "cli", "dist", "main.js"), name];
  if (tuning) {
    return [join(folder, "packages", "e2e", "dist", "herald", "tuned-service.js"), name, JSON.stringify(tuning)];
  }
  return [join(folder, "services", name, "dist", "main.js")];
}
