import { join } from "node:path";
import { localFolder } from "../stack/folders.ts";
import { parentEnds } from "../stack/parent.ts";
import { progressOn } from "../start/progress.ts";
import { readRunFile } from "../start/run-file.ts";
import { letGo, takeHold } from "../start/single-instance.ts";
import { startHerald } from "../start/start.ts";

const holdFile = join(localFolder(), "start.json");
const other = takeHold(holdFile);
if (other !== undefined) {
  console.error(alreadyRuns(other.pid));
  process.exit(1);
}
process.on("exit", () => letGo(holdFile));

const stopping = new AbortController();
const asked = new Promise<number>((resolve) => {
  const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (stopping.signal.aborted) return;
      console.error(`\nStopping ... (${signal})`);
      stopping.abort(new Error("The start was interrupted."));
      resolve(code);
    });
  }
  void parentEnds().then(() => {
    stopping.abort(new Error("The command that started this ended."));
    resolve(143);
  });
});

process.exit(await run());

async function run(): Promise<number> {
  const begun = Date.now();
  try {
    const herald = await startHerald(progressOn(console.error), console.log, stopping.signal);
    console.log(herald.panel);
    const end = await Promise.race([asked, herald.broken]);
    if (end instanceof Error) console.error(end.message);
    await herald.stop();
    console.error("Everything is stopped.");
    // Ended because somebody asked for it: that is how it should end.
    return end instanceof Error ? 1 : 0;
  } catch (error) {
    if (stopping.signal.aborted) return await asked;
    console.error(`\nHerald did not start (after ${Math.round((Date.now() - begun) / 1000)} s).\n`);
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

function alreadyRuns(pid: number): string {
  const where = (() => {
    try {
      return `: the admin page is at ${readRunFile(localFolder()).adminSignInUrl}`;
    } catch {
      return ", and is still coming up";
    }
  })();
  return `Herald runs already, started from this folder by process ${pid}${where}\nEnd that one first, with ctrl-C or "kill ${pid}".`;
}
