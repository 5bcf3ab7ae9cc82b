import { setMaxListeners } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { reportOf, tableOf } from "../chaos/report.ts";
import { planFingerprint, runChaos } from "../chaos/run.ts";
import { openWorld } from "../chaos/world/open-world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seconds: { type: "string", default: "60" },
    rate: { type: "string", default: "400" },
    json: { type: "boolean", default: false },
    /** Skips waiting for the disk. */
    disposable: { type: "boolean", default: false },
  },
});
const seed = values.seed === undefined ? Date.now() % 100_000 : Number(values.seed);
const seconds = Number(values.seconds);
const rate = Number(values.rate);
if (!Number.isInteger(seed) || !(seconds > 0) || !(rate > 0)) {
  console.error("--seed takes a whole number; --seconds and --rate (events a second) take numbers greater than 0.");
  process.exit(2);
}

const interrupted = new AbortController();
// One for each pause under way.
setMaxListeners(0, interrupted.signal);
const pause = (durationMs: number) =>
  sleep(Math.max(0, durationMs), undefined, { signal: interrupted.signal }).catch(() => undefined);
const progress = (text: string) =>
  console.error(`${(performance.now() / 1_000).toFixed(0).padStart(4)} s  ${text} ...`);

const head = { seed, seconds, rate, plan: planFingerprint(seed, seconds) };
const world = await openWorld({ disposable: values.disposable, pause, progress });
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    interrupted.abort();
    void world.close({ keepFolder: false }).finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
  });
}
let keepFolder = false;
try {
  const result = await runChaos(world, { seed, seconds, rate, pause, progress });
  console.log(values.json ? JSON.stringify(reportOf(head, result), null, 2) : tableOf(head, result));
  if (!result.verdict.passed) {
    keepFolder = true;
    process.exitCode = 1;
    await writeFile(join(world.folder, "history.json"), JSON.stringify(result.history));
    console.error(`The run's history and the services' logs are in ${world.folder}.`);
    if (values.json) console.error(tableOf(head, result));
  }
} finally {
  progress("Ending everything");
  await world.close({ keepFolder });
}
