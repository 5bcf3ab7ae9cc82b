import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** An emitter of the examples that runs. */
export interface RunningEmitter {
  /** Has it emit that a work item was completed. Resolves with what it says of it. One at a time. */
  emit(workItemId: string): Promise<string>;
  /** Ends its input. Resolves with its exit code. */
  end(): Promise<number | null>;
  /** Ends it at once, if it still runs. */
  kill(): Promise<void>;
}

/** Starts an emitter, with settings in its environment. */
export function startEmitter(
  [program = "", ...args]: readonly string[],
  settings: Record<string, string>,
): RunningEmitter {
  const child = spawn(program, args, { env: { ...process.env, ...settings } });
  let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;
  let errors = "";
  let failure: Error | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    waiting?.resolve(line);
    waiting = undefined;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors = (errors + chunk).slice(-2000);
  });
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      failure = error;
      resolve(null);
    });
    child.once("close", resolve);
  }).then((code) => {
    failure ??= new Error(`${program} ended with ${code}:\n${errors}`);
    waiting?.reject(failure);
    return code;
  });
  return {
    emit: (workItemId) =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure);
        waiting = { resolve, reject };
        child.stdin.write(`${workItemId}\n`);
      }),
    end: () => {
      child.stdin.end();
      return ended;
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
