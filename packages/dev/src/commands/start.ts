import { join } from "node:path";
import { parseArgs } from "node:util";
import { localFolder } from "../stack/folders.ts";
import { acquireLock, releaseLock } from "../stack/lock-file.ts";
import { readRunFile } from "../start/local-files.ts";
import { progressOn } from "../start/panel.ts";
import { startHerald } from "../start/start.ts";
import { runCommand } from "./run-command.ts";

const HELP = `Starts all of Herald on this machine: PostgreSQL, RabbitMQ, the three services, a demo receiver.

  pnpm start [options]

  --inspect  lets debuggers attach to the services: management-api 9229, publisher 9230, dispatcher 9231`;

/** A terminal and the package manager may both pass on one ctrl-C; later than this it is a second one. */
const SAME_REQUEST_MS = 1_000;

await runCommand(HELP, async () => {
  const { values } = parseArgs({ options: { inspect: { type: "boolean" } } });
  becomeOnlyOne();
  process.exit(await run(stopRequest(), values));
});

/** Makes this process the only one of this checkout that starts Herald, until it ends. @throws where another one does */
function becomeOnlyOne(): void {
  const lockFile = join(localFolder(), "start.json");
  const other = acquireLock(lockFile);
  if (other !== undefined) throw new Error(alreadyRuns(other.pid));
  process.on("exit", () => releaseLock(lockFile));
}

function alreadyRuns(pid: number): string {
  const end = `End that one first, with ctrl-C or "kill ${pid}".`;
  try {
    return `Herald runs already, started from this folder by process ${pid}: ${readRunFile().adminSignInUrl}\n${end}`;
  } catch {
    return `Herald is being started from this folder by process ${pid}.\n${end}`;
  }
}

/** Reports the first signal that asks this process to end. At a second one it ends at once, together with everything that it started. */
function stopRequest() {
  const controller = new AbortController();
  let askedAt = 0;
  /** Resolves with the usual exit code for the signal, when `signal` is aborted. */
  const asked = new Promise<number>((resolve) => {
    const ask = (signal: string, code: number) => {
      if (controller.signal.aborted) {
        if (Date.now() - askedAt > SAME_REQUEST_MS) process.exit(code);
        return;
      }
      askedAt = Date.now();
      console.error(`\nStopping ... (${signal})`);
      controller.abort(new Error(`Interrupted: ${signal}.`));
      resolve(code);
    };
    const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
    for (const [name, code] of Object.entries(signals)) process.on(name, () => ask(name, code));
  });
  return { asked, signal: controller.signal };
}

async function run(stop: ReturnType<typeof stopRequest>, options: { inspect?: boolean }): Promise<number> {
  const begun = Date.now();
  try {
    const { signal } = stop;
    const herald = await startHerald({ ...options, progress: progressOn(console.error), print: console.log, signal });
    console.log(herald.panel);
    const end = await Promise.race([stop.asked, herald.broken]);
    if (end instanceof Error) console.error(end.message);
    await herald.stop();
    console.error("Everything is stopped.");
    // An end that was asked for is a success.
    return end instanceof Error ? 1 : 0;
  } catch (error) {
    if (stop.signal.aborted) return await stop.asked;
    console.error(`\nHerald did not start (after ${Math.round((Date.now() - begun) / 1000)} s).\n`);
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}
