import { execFile } from "node:child_process";
import { projectFolder } from "@herald/devkit/stack";

export interface PnpmResult {
  code: number;
  stdout: string;
  stderr: string;
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 120_000;

/** Runs pnpm in the project, whichever way it got here, and resolves however it ends. */
export function pnpm(args: readonly string[]): Promise<PnpmResult> {
  return new Promise((resolve) => {
    const options = { cwd: projectFolder(), maxBuffer: MAX_OUTPUT_BYTES, timeout: TIMEOUT_MS };
    execFile("npx", ["-y", "pnpm@12", ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) || 1 : 0, stdout, stderr });
    });
  });
}
