import { fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";

/** A part of a measurement that runs as a process of its own, so that it takes nothing from what is measured. */
export type Child = Awaited<ReturnType<typeof startChild>>;

interface Answer {
  number: number;
  value?: unknown;
  error?: string;
}

/** Starts a module that calls `answerParent`. */
export async function startChild(module: URL, args: readonly string[] = []) {
  const child = fork(module, args, { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let number = 0;
  child.on("message", (answer: Answer) => {
    const asked = waiting.get(answer.number);
    waiting.delete(answer.number);
    if (answer.error === undefined) asked?.resolve(answer.value);
    else asked?.reject(new Error(answer.error));
  });
  child.on("exit", () => {
    for (const { reject } of waiting.values()) reject(new Error(`${module.pathname} ended before it answered.`));
  });

  function ask<T>(request: object): Promise<T> {
    number += 1;
    return new Promise<T>((resolve, reject) => {
      waiting.set(number, { resolve: resolve as (value: unknown) => void, reject });
      // A child that has ended takes no request. Without this callback the failure would be an "error" event without a listener.
      child.send({ number, request }, (error) => {
        if (error) reject(error);
      });
    });
  }

  return {
    ask,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** In the child: answers each request of the parent; ends with it. */
export function answerParent<Request>(answer: (request: Request) => Promise<unknown> | unknown): void {
  process.on("message", async ({ number, request }: { number: number; request: Request }) => {
    try {
      reply({ number, value: await answer(request) });
    } catch (error) {
      reply({ number, error: String(error) });
    }
  });
  process.on("disconnect", () => process.exit());
}

/** A parent that has ended hears nothing, and that is no error. */
function reply(answer: Answer): void {
  process.send?.(answer, undefined, undefined, () => {});
}

export { withoutPnpm } from "@herald/dev/stack/programs";

/** A first compilation fills caches of hundreds of megabytes, or fetches packages: on a busy machine, a large one took more than ten minutes. */
export const BUILD_TIMEOUT_MS = 1_800_000;

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
