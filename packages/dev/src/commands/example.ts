import { parseArgs } from "node:util";
import { showEffect, startExample } from "../example/run-example.ts";
import { localFolder } from "../stack/folders.ts";
import { becomeOnlyOne } from "../stack/lock-file.ts";
import { type StopRequest, stopRequest } from "../stack/stop-request.ts";
import { progressOn } from "../start/panel.ts";
import { startHerald } from "../start/start.ts";
import { runCommand, UsageError } from "./run-command.ts";

const EXAMPLES = ["express-prisma", "django"];

const HELP = `Starts Herald, and an app of examples/ beside it. Completes a work item, and shows what comes of it.

  pnpm example [express-prisma]   an app on Express and Prisma, in TypeScript
  pnpm example django             the same on Django, in Python; it needs Python 3.10 or later, with pip

ctrl-C ends all of it.`;

await runCommand(HELP, async () => {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [name = "express-prisma", ...more] = positionals;
  if (!EXAMPLES.includes(name) || more.length > 0)
    throw new UsageError(`There is no example ${positionals.join(" ")}: it is one of ${EXAMPLES.join(", ")}.`);
  becomeOnlyOne();
  const stop = stopRequest();
  process.exit(await run(name, stop).catch((error: Error) => failure(error, stop)));
});

async function run(name: string, stop: StopRequest): Promise<number> {
  const progress = progressOn(console.error);
  const herald = await startHerald({ progress, print: () => {}, signal: stop.signal });
  try {
    const example = await progress.step("Example", () => startExample(name, localFolder()));
    try {
      await Promise.race([showEffect(example.url, console.log), stop.asked]);
      console.log(`\nThe product is at ${example.url}. More is in examples/${name}/README.md. ctrl-C ends it.`);
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
