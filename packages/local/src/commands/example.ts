import { runCommand } from "@herald/testkit/commands/run-command";
import { localFolder } from "@herald/testkit/stack/folders";
import { type StopRequest, stopRequest } from "@herald/testkit/stack/stop-request";
import { buildApp } from "../example/app.ts";
import { showEffect, startExample } from "../example/run-example.ts";
import { becomeOnlyOne } from "../start/only-one.ts";
import { progressOn } from "../start/progress.ts";
import { startHerald } from "../start/start.ts";

const HELP = `Starts Herald, and examples/express-prisma beside it. Completes a work item, and shows what comes of it.

  pnpm example

ctrl-C ends all of it.`;

await runCommand(HELP, async () => {
  becomeOnlyOne();
  const stop = stopRequest();
  process.exit(await run(stop).catch((error: Error) => failure(error, stop)));
});

async function run(stop: StopRequest): Promise<number> {
  const progress = progressOn(console.error);
  const folder = await progress.step("Example", buildApp);
  const herald = await startHerald({ progress, print: () => {}, signal: stop.signal });
  try {
    const example = await startExample(folder, localFolder());
    try {
      await Promise.race([showEffect(example.url, console.log), stop.asked]);
      console.log(`\nThe product is at ${example.url}. More is in examples/express-prisma/README.md. ctrl-C ends it.`);
      const end = await Promise.race([stop.asked, herald.broken]);
      if (end instanceof Error) throw end;
      return 0;
    } finally {
      await example.stop();
    }
  } finally {
    await herald.stop();
  }
}

/** What was asked to end has not failed. */
async function failure(error: Error, stop: StopRequest): Promise<number> {
  if (stop.signal.aborted) return await stop.asked;
  console.error(error.message);
  return 1;
}
