import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { runToEnd } from "@herald/dev/stack/programs";
import { expect } from "@jest/globals";

const COMMAND = join(projectFolder(), "packages", "e2e", "dist", "commands", "chaos.js");
/** Enough for a machine that other tests keep busy. */
export const TIMEOUT_MS = 400_000;

interface Report {
  /** How many findings of each kind there are. */
  verdict: Record<string, number>;
  figures: Record<string, number> & { faults: Record<string, number> };
}

/** Runs the command and expects it to find nothing. */
export async function passes(...options: string[]): Promise<Report> {
  const { code, stdout, stderr } = await run([...options, "--disposable", "--json"]);
  if (!stdout.startsWith("{")) throw new Error(`The run ended with ${code} and no report:\n${stderr}`);
  const report = JSON.parse(stdout) as Report;
  const nothing = Object.fromEntries(Object.keys(report.verdict).map((finding) => [finding, 0]));
  expect({ code, ...report }).toMatchObject({ code: 0, passed: true, complaints: [], verdict: nothing });
  return report;
}

/** The command's output, and its exit code. */
export const run = (options: readonly string[]) => runToEnd(process.execPath, [COMMAND, ...options]);
