import { join } from "node:path";
import { localFolder } from "@herald/testkit/stack/folders";
import { letGo, takeHold } from "@herald/testkit/stack/single-instance";
import { type StopRequest, stopRequest } from "@herald/testkit/stack/stop-request";
import { progressOn } from "../start/progress.ts";
import { readRunFile } from "../start/run-file.ts";
import { startHerald } from "../start/start.ts";

const holdFile = join(localFolder(), "start.json");
const other = takeHold(holdFile);
if (other !== undefined) {
  console.error(alreadyRuns(other.pid));
  process.exit(1);
}
process.on("exit", () => letGo(holdFile));
process.exit(await run(stopRequest()));

async function run(stop: StopRequest): Promise<number> {
  const begun = Date.now();
  try {
    const herald = await startHerald(progressOn(console.error), console.log, stop.signal);
    console.log(herald.panel);
    const end = await Promise.race([stop.asked, herald.broken]);
    if (end instanceof Error) console.error(end.message);
    await herald.stop();
    console.error("Everything is stopped.");
    // Ended because somebody asked for it: that is how it should end.
    return end instanceof Error ? 1 : 0;
  } catch (error) {
    if (stop.signal.aborted) return await stop.asked;
    console.error(`\nHerald did not start (after ${Math.round((Date.now() - begun) / 1000)} s).\n`);
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

function alreadyRuns(pid: number): string {
  const end = `End that one first, with ctrl-C or "kill ${pid}".`;
  try {
    return `Herald runs already, started from this folder by process ${pid}: ${readRunFile(localFolder()).adminSignInUrl}\n${end}`;
  } catch {
    return `Herald is being started from this folder by process ${pid}.\n${end}`;
  }
}
