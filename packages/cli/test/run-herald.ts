import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { runToEnd } from "@herald/dev/stack/programs";
import type { CommandContext } from "../src/command.ts";
import { herald } from "../src/herald.ts";

export interface Outcome {
  code: number | null;
  stdout: string;
  /** Without the audit line. */
  stderr: string;
  /** Its audit line about a change. */
  audit?: Record<string, unknown>;
}

/** Servers of tests have passwords that can be guessed, and secrets that are not random. */
const DEVELOPMENT = { HERALD_ENV: "development" };

/** Runs the built command as an operator would, with these environment variables and no others. */
export async function runHerald(args: readonly string[], environment: Record<string, string> = {}): Promise<Outcome> {
  const main = join(projectFolder(), "packages", "cli", "dist", "main.js");
  const env = { PATH: process.env.PATH, ...DEVELOPMENT, ...environment };
  return readable(await runToEnd(process.execPath, [main, ...args], { env, timeout: 10 * 60_000 }));
}

/** The same in the test's own process, for tests with many calls. */
export async function callHerald(
  args: readonly string[],
  environment: Record<string, string> = {},
  more: Pick<CommandContext, "machineClock"> = {},
): Promise<Outcome> {
  const texts = { stdout: "", stderr: "" };
  const code = await herald(args, {
    ...more,
    environment: { ...DEVELOPMENT, ...environment },
    stdout: (text) => {
      texts.stdout += typeof text === "string" ? text : Buffer.from(text).toString("utf8");
    },
    stderr: (text) => {
      texts.stderr += text;
    },
  });
  return readable({ code, ...texts });
}

function readable({ code, stdout, stderr: all }: Outcome): Outcome {
  // On a slow machine a command says what it is at.
  const [line, ...more] = all.match(/^\{.*"audit":true.*\n/gm) ?? [];
  if (more.length > 0) throw new Error(`There are ${1 + more.length} audit lines:\n${line}${more.join("")}`);
  const stderr = all.replaceAll(/^herald .* \(\d+ s\)\n/gm, "").replace(line ?? "", "");
  return { code, stdout, stderr, ...(line !== undefined && { audit: JSON.parse(line) }) };
}

/** The output of a command with --json: an object a line. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
export function objectsIn(stdout: string): any[] {
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
