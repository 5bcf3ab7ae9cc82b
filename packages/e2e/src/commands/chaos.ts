import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { hasPassed, reportOf, tableOf } from "../chaos/report.ts";
import { clusterScenario } from "../chaos/scenarios/cluster.ts";
import { faultsScenario, silenceScenario, stormScenario } from "../chaos/scenarios/faults.ts";
import { operatorsScenario } from "../chaos/scenarios/operators.ts";
import { postgresFailoverScenario } from "../chaos/scenarios/postgres-failover.ts";
import { restoreScenario } from "../chaos/scenarios/restore.ts";
import { rollingRestartScenario } from "../chaos/scenarios/rolling-restart.ts";
import type { Scenario } from "../chaos/scenarios/scenario.ts";

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  faults: faultsScenario,
  storm: stormScenario,
  silence: silenceScenario,
  cluster: clusterScenario,
  "rolling-restart": rollingRestartScenario,
  operators: operatorsScenario,
  restore: restoreScenario,
  "postgres-failover": postgresFailoverScenario,
};

const USAGE = `pnpm chaos [options]: breaks a Herald of its own while events flow, and counts what was lost.

  --scenario NAME    ${Object.keys(SCENARIOS).join(", ")} (faults)
  --seed N           a whole number that repeats a run (another one each time)
  --seconds N        how long events are emitted and faults injected (60)
  --rate N           events a second (400)
  --json             prints everything as JSON
  --disposable       PostgreSQL doesn't wait for the disk`;

const { values } = parseArgs({
  options: {
    scenario: { type: "string", default: "faults" },
    seed: { type: "string" },
    seconds: { type: "string", default: "60" },
    rate: { type: "string", default: "400" },
    json: { type: "boolean", default: false },
    disposable: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit();
}
const seed = values.seed === undefined ? Date.now() % 100_000 : Number(values.seed);
const seconds = Number(values.seconds);
const rate = Number(values.rate);
const scenario = SCENARIOS[values.scenario];
if (!scenario || !Number.isInteger(seed) || !(seconds > 0) || !(rate > 0)) {
  console.error(USAGE);
  process.exit(2);
}

const interrupted = new AbortController();
// One for each pause under way.
setMaxListeners(0, interrupted.signal);
const pause = (durationMs: number) =>
  sleep(Math.max(0, durationMs), undefined, { signal: interrupted.signal }).catch(() => undefined);
const progress = (text: string) =>
  console.error(`${(performance.now() / 1_000).toFixed(0).padStart(4)} s  ${text} ...`);

let close = async () => {};
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    interrupted.abort();
    void close().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
  });
}

const head = { scenario: values.scenario, seed, seconds, rate };
const result = await scenario({
  ...head,
  disposable: values.disposable,
  pause,
  progress,
  onOpened: (closeWorld) => {
    close = closeWorld;
  },
});
console.log(values.json ? JSON.stringify(reportOf(head, result), null, 2) : tableOf(head, result));
if (!hasPassed(result)) {
  if (values.json) console.error(tableOf(head, result));
  console.error(`The run's history and the services' logs are in ${result.folder}.`);
  process.exitCode = 1;
}
