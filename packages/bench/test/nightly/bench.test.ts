import { execFile } from "node:child_process";
import { join } from "node:path";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { beforeAll, expect, test } from "@jest/globals";

const COMMAND = join(projectFolder(), "packages", "bench", "dist", "commands", "bench.js");
const TIMEOUT_MS = 120_000;

// It starts a RabbitMQ of its own.
beforeAll(askForRabbitmqServer, STACK_TIMEOUT_MS);

test(
  "the benchmark measures what it was asked for, and finds nothing lost and nothing twice",
  async () => {
    const report = await bench("--only", "latency", "--seconds", "0.5", "--rounds", "1", "--json");
    expect(report.rows.map(({ name }) => name)).toEqual(["latency"]);
    for (const { figures } of report.rows) {
      const values = Object.fromEntries(figures.map(({ name, median }) => [name, median]));
      expect(values).toMatchObject({ lost: 0, repeated: 0 });
      // JSON has no NaN: what was not measured is null.
      expect(Object.values(values)).not.toContain(null);
    }
  },
  TIMEOUT_MS,
);

interface Report {
  rows: { name: string; figures: { name: string; median: number | null }[] }[];
}

async function bench(...options: string[]): Promise<Report> {
  return await new Promise((resolve, reject) => {
    execFile(process.execPath, [COMMAND, ...options], (error, stdout, stderr) => {
      if (error) reject(new Error(stderr, { cause: error }));
      else resolve(JSON.parse(stdout));
    });
  });
}
