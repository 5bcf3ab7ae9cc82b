import { type ExecFileOptions, execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export interface RunOptions {
  /** The work that is being done, for the error: "Creating the data folder". */
  what: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  user?: { uid: number; gid: number };
  timeoutMs?: number;
}

/** Runs a program to its end, and returns its standard output. @throws with what it wrote, where it fails */
export function runProgram(command: string, args: string[], options: RunOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const settings = {
      env: options.env ?? process.env,
      timeout: options.timeoutMs ?? 120_000,
      maxBuffer: 16 * 1024 * 1024,
      ...(options.cwd && { cwd: options.cwd }),
      ...options.user,
    };
    execFile(command, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = `${stderr}${stdout}`.trim().split("\n").slice(-15).join("\n");
      reject(new Error(`${options.what} failed (${command}): ${said || error.message}`, { cause: error }));
    });
  });
}

/** Runs a program to its end, whatever its exit code is; null after a signal. @throws if it can't be started */
export function runToEnd(
  command: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const settings = { maxBuffer: 64 * 1024 * 1024, ...options, encoding: "utf8" as const };
    const child = execFile(command, args, settings, (error, stdout, stderr) => {
      if (typeof error?.code === "string") reject(error);
      else resolve({ code: child.exitCode, stdout, stderr });
    });
    child.stdin?.end();
  });
}

/** Whether the command works; its output is of no interest. */
export async function succeeds(
  command: string,
  args: string[],
  options: Omit<RunOptions, "what"> = {},
): Promise<boolean> {
  try {
    await runProgram(command, args, { timeoutMs: 10_000, ...options, what: command });
    return true;
  } catch {
    return false;
  }
}

/** Where a program is: on the PATH, or in one of the further folders. */
export function findProgram(name: string, furtherFolders: string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...furtherFolders];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The environment without the variables that pnpm sets for the programs that it runs: npm would take them for its own settings. */
export function withoutPnpm(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_config_(?!registry|cache)|NODE_OPTIONS|INIT_CWD)/i.test(name),
  );
  return Object.fromEntries(own);
}
