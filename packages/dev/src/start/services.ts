import { createWriteStream, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { startProcess, untilReady } from "../stack/processes.ts";
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

const READY_TIMEOUT_MS = 60_000;
/** A service takes 20 s at most to finish what is in flight. */
const STOP_GRACE_MS = 25_000;

/**
 * Starts a service and waits until it is ready.
 *
 * @param print called with its warnings, for the person at the terminal; the log in `logFolder` has everything
 * @throws with its last lines, if it does not become ready
 */
export async function startService(spec: ServiceSpec, logFolder: string, print: (text: string) => void) {
  if (!existsSync(spec.main)) throw new Error(`${spec.name} is not built: there is no ${spec.main}. Run "pnpm build".`);
  mkdirSync(logFolder, { recursive: true });
  const logFile = join(logFolder, `${spec.name}.log`);
  const log = createWriteStream(logFile, { flags: "a" });
  const inspect = spec.inspectPort ? [`--inspect=127.0.0.1:${spec.inspectPort}`] : [];
  const child = await startProcess({
    name: spec.name,
    command: process.execPath,
    args: ["--enable-source-maps", ...inspect, spec.main],
    env: spec.env,
    onLine: (line) => {
      log.write(`${line}\n`);
      const text = forTheTerminal(spec.name, line);
      if (text !== undefined) print(text);
    },
  });
  try {
    const ask = () => assertReady(`${spec.metricsUrl}/readyz`);
    await untilReady(spec.name, ask, { timeoutMs: READY_TIMEOUT_MS, child });
  } catch (error) {
    await child.stop(1_000);
    throw error;
  }
  return {
    /** Resolves with the reason when it has ended. */
    ended: child.exited.then(({ code, signal }) => {
      const exit = signal === null ? `exit code ${code}` : `signal ${signal}`;
      const lines = child.lastLines().slice(-20).join("\n    ");
      return new Error(`${spec.name} ended by itself (${exit}). Its last lines, of ${logFile}:\n    ${lines}`);
    }),
    stop: async () => {
      await child.stop(STOP_GRACE_MS);
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
