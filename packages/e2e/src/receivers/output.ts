import { runProgram } from "@herald/testkit/stack/programs";

export { withoutPnpm } from "@herald/testkit/stack/programs";

/** A first compilation fills caches of hundreds of megabytes, or fetches packages. */
export const BUILD_TIMEOUT_MS = 600_000;

/** Runs a program to its end, and returns what it printed. */
export async function output(program: string, args: string[], cwd: string, env = process.env): Promise<string> {
  const what = `Running ${program} ${args.join(" ")}`;
  return (await runProgram(program, args, { what, cwd, env, timeoutMs: BUILD_TIMEOUT_MS })).trim();
}
