import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../src/harness/eventually.ts";
import { projectFolder } from "../src/stack/folders.ts";
import type { RunInfo } from "../src/start/local-files.ts";

const COMMANDS = join(projectFolder(), "packages", "dev", "dist", "commands");
/** Long enough for a machine that is ten times slower. */
export const START_TIMEOUT_MS = 300_000;

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A `pnpm start` of a test: what the script runs, with a data folder of its own. */
export interface HeraldProcess {
  child: ChildProcess;
  /** Everything it wrote so far. */
  text(): string;
  /** Resolves when run.json is there, or rejects when the process ends before. */
  ready(): Promise<RunInfo>;
  /** Resolves with the exit code, or the signal's name. */
  ended: Promise<number | string | null>;
}

export function startHerald(local: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): HeraldProcess {
  const child = spawn(process.execPath, [join(COMMANDS, "start.js"), ...args], { env: environment(local, env) });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  let end: number | string | null | undefined;
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => {
      end = code ?? signal;
      resolve(end);
    });
  });
  return {
    child,
    text: () => text,
    ended,
    ready: async () => {
      const info = await eventually(
        () => {
          if (end !== undefined) return undefined;
          return JSON.parse(readFileSync(join(local, "run.json"), "utf8")) as RunInfo;
        },
        { timeoutMs: START_TIMEOUT_MS, intervalMs: 50 },
      );
      if (info === undefined) throw new Error(`It ended with ${end} before it was ready:\n${text}`);
      return info;
    },
  };
}

/** Runs `pnpm <command>` to its end. */
export async function runCommand(command: string, args: string[], local: string): Promise<CommandResult> {
  const child = spawn(process.execPath, [join(COMMANDS, `${command}.js`), ...args], { env: environment(local) });
  const result = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    result.stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    result.stderr += chunk;
  });
  child.stdin.end();
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...result };
}

function environment(local: string, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { npm_lifecycle_event: _script, NODE_OPTIONS: _options, NODE_ENV: _environment, ...inherited } = process.env;
  return { ...inherited, HERALD_LOCAL_FOLDER: local, ...env };
}

/** Names of the processes whose pid files are in a local folder. */
export function pidFiles(local: string): Record<string, number> {
  const folder = join(local, "pids");
  return Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .map((name) => {
        const { pid } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { pid: number };
        return [name.replace(".json", ""), pid];
      }),
  );
}
