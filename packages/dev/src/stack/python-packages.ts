import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fetchOnce } from "./fetch-once.ts";
import { runProgram } from "./programs.ts";

/** Python, and an environment in which it finds the packages. */
export interface PythonPackages {
  python: string;
  env: NodeJS.ProcessEnv;
  /** Where the packages' commands are. */
  commands: string;
}

/** Installing on a slow machine with cold caches. */
const INSTALL_TIMEOUT_MS = 600_000;

/**
 * Installs what a file of requirements lists, in `.local`. A folder of their own does what a virtual environment does, with
 * pip alone.
 *
 * @param python its executable
 * @param requirements the file
 */
export async function installPythonPackages(python: string, requirements: string): Promise<PythonPackages> {
  const run = (args: string[]) => {
    const what = `Installing ${requirements}`;
    return runProgram(python, args, { what, cwd: dirname(requirements), timeoutMs: INSTALL_TIMEOUT_MS });
  };
  const version = (await run(["--version"])).trim();
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
  const folder = await fetchOnce(`${version}\n${readFileSync(requirements, "utf8")}`, async (work) => {
    await run([...args, "--target", work, "--requirement", requirements]);
  });
  const commands = join(folder, "bin");
  const env = { ...process.env, PYTHONPATH: folder, PATH: `${commands}${delimiter}${process.env.PATH}` };
  return { python, env, commands };
}
