import { runProgram } from "@herald/testkit/stack/programs";

/** A first compilation fills caches of hundreds of megabytes, or fetches packages. */
export const BUILD_TIMEOUT_MS = 600_000;

/** Runs a program to its end, and returns what it printed. */
export async function output(program: string, args: string[], cwd: string, env = process.env): Promise<string> {
  const what = `Running ${program} ${args.join(" ")}`;
  return (await runProgram(program, args, { what, cwd, env, timeoutMs: BUILD_TIMEOUT_MS })).trim();
}

/** The environment without what pnpm tells the programs that it runs: npm would take it for its own settings. */
export function withoutPnpm(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_config_(?!registry|cache)|NODE_OPTIONS|INIT_CWD)/i.test(name),
  );
  return Object.fromEntries(own);
}
