import { createWriteStream, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ProcessExit, type RunningProcess, startProcess, untilReady } from "../stack/processes.ts";
import { forTheTerminal } from "./panel.ts";

export interface ServiceSpec {
  name: string;
  /** The built entry point. */
  main: string;
  env: NodeJS.ProcessEnv;
  /** Where its /readyz is. */
  metricsUrl: string;
  /** Where a debugger can attach; none if absent. */
  inspectPort?: number;
}

export interface ServiceContext {
  pidFolder: string;
  logFolder: string;
  /** Called with what happens to services, and with their warnings, for the person at the terminal. */
  print: (text: string) => void;
}

const READY_TIMEOUT_MS = 60_000;
/** A service that crashes {@link CRASHES_TOO_MANY} times within this time is not started again. */
const CRASH_WINDOW_MS = 30_000;
const CRASHES_TOO_MANY = 3;
/** A service takes 20 s at most to finish what is in flight. */
const STOP_GRACE_MS = 25_000;

/**
 * Starts a service and waits until it is ready. One that ends by itself later is started again, as an orchestrator would;
 * one that keeps ending is given up.
 *
 * @throws with its last lines, where it does not become ready
 */
export async function superviseService(spec: ServiceSpec, context: ServiceContext) {
  if (!existsSync(spec.main)) throw new Error(`${spec.name} is not built: there is no ${spec.main}. Run "pnpm build".`);
  mkdirSync(context.logFolder, { recursive: true });
  const logFile = join(context.logFolder, `${spec.name}.log`);
  const log = createWriteStream(logFile, { flags: "a" });
  const launch = () =>
    startProcess({
      name: spec.name,
      command: process.execPath,
      args: [
        "--enable-source-maps",
        ...(spec.inspectPort ? [`--inspect=127.0.0.1:${spec.inspectPort}`] : []),
        spec.main,
      ],
      env: spec.env,
      pidFolder: context.pidFolder,
      mark: spec.main,
      onLine: (line) => {
        log.write(`${line}\n`);
        const text = forTheTerminal(spec.name, line);
        if (text !== undefined) context.print(text);
      },
    });

  let child = await launch();
  let stopping = false;
  const crashes: number[] = [];
  let giveUp: (error: Error) => void = () => {};
  const givenUp = new Promise<Error>((resolve) => {
    giveUp = resolve;
  });

  const watch = async () => {
    for (;;) {
      const exit = await child.exited;
      if (stopping) return;
      if (!(await afterCrash(describeExit(exit)))) return;
      if (stopping) return;
      child = await launch();
    }
  };

  /** Whether to start it again. */
  async function afterCrash(exit: string): Promise<boolean> {
    const text = `${spec.name} ended by itself (${exit}). Its last lines, of ${logFile}:\n${tail(child)}`;
    const now = Date.now();
    crashes.push(now);
    if (crashes.filter((time) => time > now - CRASH_WINDOW_MS).length < CRASHES_TOO_MANY) {
      context.print(`${text}\nStarting ${spec.name} again.`);
      await sleep(500);
      return true;
    }
    giveUp(new Error(`${text}\nThat was crash ${crashes.length}; it is not started again.`));
    return false;
  }

  try {
    const ask = () => assertReady(`${spec.metricsUrl}/readyz`);
    await untilReady(spec.name, ask, { timeoutMs: READY_TIMEOUT_MS, child });
  } catch (error) {
    await child.stop(1_000);
    throw error;
  }
  const watching = watch();
  return {
    /** Resolves when it has crashed for good. */
    givenUp,
    stop: async () => {
      stopping = true;
      await child.stop(STOP_GRACE_MS);
      await watching;
      log.end();
    },
  };
}

/** @throws unless every part of a service can be used, also the parts without which /readyz answers 200 */
export async function assertReady(url: string): Promise<void> {
  const response = await fetch(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(5_000) });
  const text = await response.text();
  if (response.status !== 200 || text.includes(":false")) {
    throw new Error(`${url} answers ${response.status} ${text}`);
  }
}

function describeExit({ code, signal }: ProcessExit): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

function tail(child: RunningProcess): string {
  return child
    .lastLines()
    .slice(-20)
    .map((line) => `    ${line}`)
    .join("\n");
}
