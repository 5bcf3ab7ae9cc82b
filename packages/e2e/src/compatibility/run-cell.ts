import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { localFolder, projectFolder } from "@herald/testkit/stack/folders";
import { nodeFolder } from "@herald/testkit/stack/node-versions";
import { startProcess } from "@herald/testkit/stack/processes";
import { withoutPnpm } from "@herald/testkit/stack/programs";
import { type Cell, nameOf } from "./cells.ts";
import { type CellRun, VERSIONS_FILE, type Versions } from "./results.ts";
import type { Tier } from "./tiers.ts";

/** What jest writes by --json, as far as it is read here. */
interface JestReport {
  success: boolean;
  numPassedTests: number;
  testResults: {
    name: string;
    status: string;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

/**
 * Runs a tier of tests in a cell, in processes of the cell's Node, with servers of its own. What jest prints goes into a log.
 *
 * @param signal ends it
 * @throws where the cell's Node can't be had, the signal ended the run, or jest ends without a report
 */
export async function runCell(
  cell: Cell,
  tier: Tier,
  signal: AbortSignal,
): Promise<{ run: Omit<CellRun, "commit" | "date">; log: string }> {
  const programs = await nodeFolder(cell.node);
  const folder = join(localFolder(), "compatibility", `${nameOf(cell).replaceAll("/", "-")}-${tier.name}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const [log, reportFile, versionsFile] = ["log.txt", "report.json", "versions.json"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  // In a group of its own, which ends as a whole: jest's workers would outlive it.
  const jest = await startProcess({
    name: `jest-${nameOf(cell).replaceAll("/", "-")}`,
    command: join(programs, "node"),
    args: [
      ...["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", "node_modules/jest/bin/jest.js"],
      ...["--selectProjects", "service", "--no-watchman", "--json", "--outputFile", reportFile, ...tier.files],
    ],
    cwd: projectFolder(),
    env: environmentOf(cell, programs, versionsFile),
    pidFolder: join(localFolder(), "compatibility", "processes"),
    mark: reportFile,
    onLine: (line) => appendFileSync(log, `${line}\n`),
  });
  const end = () => void jest.stop(0);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  await jest.exited;
  signal.removeEventListener("abort", end);
  signal.throwIfAborted();
  if (!existsSync(reportFile)) throw new Error(`Jest ended without a report in the cell ${nameOf(cell)}: see ${log}.`);
  const report = JSON.parse(readFileSync(reportFile, "utf8")) as JestReport;
  const versions = existsSync(versionsFile) && (JSON.parse(readFileSync(versionsFile, "utf8")) as Versions);
  return {
    run: {
      ...cell,
      tier: tier.name,
      // Without the versions nobody knows what has passed.
      passed: report.success && versions !== false,
      tests: report.numPassedTests,
      failed: report.testResults.flatMap(failedOf),
      ...(versions && { versions }),
    },
    log,
  };
}

/** Settings of tests that this process was given stand for none of the cells. */
function environmentOf(cell: Cell, programs: string, versionsFile: string): NodeJS.ProcessEnv {
  const { DATABASE_URL: _database, AMQP_URL: _broker, AMQP_MANAGEMENT_URL: _management, ...own } = withoutPnpm();
  return {
    ...own,
    PATH: [programs, own.PATH].join(delimiter),
    POSTGRES_VERSION: cell.postgres,
    RABBITMQ_VERSION: cell.rabbitmq,
    POSTGRES_POOLER: cell.pooler ? "pgbouncer" : "",
    [VERSIONS_FILE]: versionsFile,
  };
}

/** The tests of a file that failed, or the file itself where it did not come so far. */
function failedOf({ name, status, assertionResults }: JestReport["testResults"][number]): string[] {
  const failed = assertionResults.filter((each) => each.status === "failed").map(({ fullName }) => fullName);
  return status === "failed" && failed.length === 0 ? [name.slice(projectFolder().length + 1)] : failed;
}
