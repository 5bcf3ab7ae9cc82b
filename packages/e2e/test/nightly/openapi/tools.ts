import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { askForProgram } from "@herald/dev/harness/stack-client";
import { localFolder } from "@herald/dev/stack/folders";
import { output, withoutPnpm } from "../../../src/child.ts";

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

/** Python, and an environment in which it finds its packages. */
export interface PythonPackages {
  python: string;
  env: NodeJS.ProcessEnv;
  /** Where the packages' commands are. */
  commands: string;
}

/** Installs what a file of requirements lists. A folder of their own does what a virtual environment does, with pip alone. */
export async function pythonPackages(requirements: string): Promise<PythonPackages> {
  const { executable: python } = await askForProgram("python");
  const run = (args: string[]) => output(python, args, dirname(requirements));
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
  const what = `${await run(["--version"])}\n${readFileSync(requirements, "utf8")}`;
  const folder = await fetchOnce(what, async (work) => {
    await run([...args, "--target", work, "--requirement", requirements]);
  });
  const commands = join(folder, "bin");
  const env = { ...process.env, PYTHONPATH: folder, PATH: `${commands}${delimiter}${process.env.PATH}` };
  return { python, env, commands };
}

/**
 * Keeps what `fetch` puts into a folder in `.local`, by what it is: whole or not at all, whatever ends the run.
 *
 * @param what names it exactly, versions included
 * @returns the folder
 */
async function fetchOnce(what: string, fetch: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(localFolder(), "tools", createHash("sha256").update(what).digest("hex").slice(0, 16));
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  try {
    await fetch(work);
    // Another process may have been quicker.
    if (!existsSync(folder)) renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}
