import { join } from "node:path";
import { parseArgs } from "node:util";
import { runCommand, UsageError } from "@herald/testkit/commands/run-command";
import { currentCommit } from "@herald/testkit/stack/current-commit";
import { projectFolder } from "@herald/testkit/stack/folders";
import { stopRequest } from "@herald/testkit/stack/stop-request";
import { cellsLike, cellsOf, GROUPS, nameOf } from "../compatibility/cells.ts";
import { COMPATIBILITY, hasPassed, readCellRuns, saveCellRun } from "../compatibility/results.ts";
import { runCell } from "../compatibility/run-cell.ts";
import { TIERS } from "../compatibility/tiers.ts";

const HELP = `Runs tests on each combination of Node, PostgreSQL, RabbitMQ and a pooler, one combination after the other.

  pnpm compatibility [--cells ${Object.keys(GROUPS).join("|")}] [--only NODE/POSTGRESQL/RABBITMQ/POOLER] [--tier ${TIERS.map(({ name }) => name).join("|")}] [--save] [--again]

  --cells a,b   groups of cells (corners,diagonal)
  --only CELL   one cell in their place, such as 22/17/4/no; * stands for each version, as in '22/*/4/no'
  --tier NAME   which tests: ${TIERS.map(({ name, files }) => `${name} (${files.length === 0 ? "every service test" : `${files.length} files`})`).join(", ")}
  --save        puts what ran into ${COMPATIBILITY}, of which pnpm run docs makes a table; what has passed there on this commit is not run again
  --again       runs that too
  --list        only names the cells

What is missing of Node, PostgreSQL, RabbitMQ and PgBouncer is installed. A test that fails does not end the run; the exit code is 1 then.`;

await runCommand(HELP, async () => {
  const { values } = parseArgs({
    options: {
      cells: { type: "string", default: "corners,diagonal" },
      only: { type: "string" },
      tier: { type: "string", default: "main-job" },
      save: { type: "boolean", default: false },
      again: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  const cells = values.only === undefined ? cellsOf(values.cells) : cellsLike(values.only);
  if (cells === undefined) throw new UsageError(`--cells takes ${Object.keys(GROUPS).join(", ")}, parted by commas.`);
  if (cells.length === 0)
    throw new UsageError(`No cell is "${values.only}". One is 22/17/4/no; --list names those of --cells.`);
  const tier = TIERS.find(({ name }) => name === values.tier);
  if (tier === undefined) throw new UsageError(`There is no tier "${values.tier}".`);
  if (values.list) {
    console.log(cells.map(nameOf).join("\n"));
    return;
  }

  const file = join(projectFolder(), COMPATIBILITY);
  const commit = await currentCommit();
  const { signal } = stopRequest();
  let failures = 0;
  for (const [index, cell] of cells.entries()) {
    const head = `${String(index + 1).padStart(String(cells.length).length)} of ${cells.length}  ${nameOf(cell).padEnd(14)}`;
    if (values.save && !values.again && hasPassed(readCellRuns(file), cell, tier.name, commit)) {
      console.log(`${head}  has passed on ${commit}`);
      continue;
    }
    const { run, log } = await runCell(cell, tier, signal);
    if (values.save) saveCellRun(file, { ...run, commit, date: new Date().toISOString().slice(0, 10) });
    const { node, postgres, rabbitmq, pooler } = run.versions ?? {};
    const on = `Node ${node}, PostgreSQL ${postgres}, RabbitMQ ${rabbitmq}${pooler ? `, ${pooler}` : ""}`;
    console.log(`${head}  ${run.passed ? "passed" : "FAILED"}: ${run.tests} tests${run.versions ? `, on ${on}` : ""}`);
    if (run.passed) continue;
    failures += 1;
    console.log([...run.failed.map((title) => `    ${title}`), `    The whole output is in ${log}.`].join("\n"));
  }
  if (failures > 0) throw new Error(`Tests failed in ${failures} of ${cells.length} cells.`);
});
process.exit();
