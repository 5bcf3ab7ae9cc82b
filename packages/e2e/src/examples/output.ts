import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";

export { withoutPnpm } from "@herald/dev/stack/programs";

/** A first compilation fills caches of hundreds of megabytes, or fetches packages. */
export const BUILD_TIMEOUT_MS = 600_000;

/** Runs a program to its end, and returns what it printed. */
export async function output(program: string, args: string[], cwd: string, env = process.env): Promise<string> {
  const what = `Running ${program} ${args.join(" ")}`;
  // A compiler calls others of its own folder, and may find another one's by their names first: cargo, rustc.
  const own = { ...env, PATH: [dirname(program), env.PATH].join(delimiter) };
  return (await runProgram(program, args, { what, cwd, env: own, timeoutMs: BUILD_TIMEOUT_MS })).trim();
}

/** Works on a copy of an example's folder, so that the checkout stays as it is. */
export async function withCopy<Result>(example: string, work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "herald-example-"));
  try {
    cpSync(join(projectFolder(), "examples", example), folder, { recursive: true });
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
