import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { askForPython } from "@herald/dev/harness/stack-client";
import { fetchOnce } from "@herald/dev/stack/fetch-once";
import { installPythonPackages, type PythonPackages } from "@herald/dev/stack/python-packages";
import { output, withoutPnpm } from "../../../src/examples/output.ts";

// Programs that only these tests run. They are fetched when a test first needs them, so that no install carries them.

/** Fetches packages from npm, each given with its exact version. Returns the folder of their commands. */
export async function npmPackages(...packages: string[]): Promise<string> {
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--save-exact"];
  const folder = await fetchOnce(packages.join(" "), async (work) => {
    // Without it, npm takes the checkout around the folder for the project.
    writeFileSync(join(work, "package.json"), '{ "private": true }');
    await output("npm", [...args, ...packages], work, withoutPnpm());
  });
  return join(folder, "node_modules", ".bin");
}

/** Installs what a file of requirements lists. */
export async function pythonPackages(requirements: string): Promise<PythonPackages> {
  const { executable } = await askForPython();
  return await installPythonPackages(executable, requirements);
}

/** Runs a program to its end, whatever its exit code is: what it finds is in what it prints. */
export async function findings(
  program: string,
  args: string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
