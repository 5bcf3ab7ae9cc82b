import { parseArgs } from "node:util";
import { becomeOnlyOne } from "../stack/lock-file.ts";
import { type StopRequest, stopRequest } from "../stack/stop-request.ts";
import { progressOn } from "../start/panel.ts";
import { startHerald } from "../start/start.ts";
import { runCommand } from "./run-command.ts";

const HELP = `Starts all of Herald on this machine: PostgreSQL, RabbitMQ, the three services, a demo receiver.

  pnpm start [options]

  --inspect  lets debuggers attach to the services: management-api 9229, publisher 9230, dispatcher 9231`;

await runCommand(HELP, async () => {
  const { values } = parseArgs({ options: { inspect: { type: "boolean" } } });
  becomeOnlyOne();
  process.exit(await run(stopRequest(), values));
});

async function run(stop: StopRequest, options: { inspect?: boolean }): Promise<number> {
  const begun = Date.now();
  try {
    const herald = await startHerald({
      ...options,
      progress: progressOn(console.error),
      print: console.log,
      signal: stop.signal,
    });
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
