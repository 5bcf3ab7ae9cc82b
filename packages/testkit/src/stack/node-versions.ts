import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { localFolder } from "./folders.ts";
import { runProgram, withoutPnpm } from "./programs.ts";

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/**
 * Where a Node of this major version is: the one that runs this, if it is one; else the newest that npm has for this platform, which is installed into
 * the local folder when it is first asked for.
 *
 * @returns the folder of its programs
 * @throws where npm has none, or it can't be installed
 */
export async function nodeFolder(major: string): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return join(process.execPath, "..");
  const name = `node-${platform()}-${arch()}`;
  const parent = join(localFolder(), "node");
  const folder = join(parent, major);
  const programs = (base: string) => join(base, "node_modules", name, "bin");
  if (existsSync(programs(folder))) return programs(folder);
  mkdirSync(parent, { recursive: true });
  const draft = mkdtempSync(join(parent, "draft-"));
  try {
    const quiet = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
    await runProgram("npm", ["install", "--prefix", draft, "--ignore-scripts", ...quiet, `${name}@${major}`], {
      ...{ what: `Installing Node ${major} with npm`, cwd: draft, env: withoutPnpm(), timeoutMs: INSTALL_TIMEOUT_MS },
    });
    renameSync(draft, folder);
  } catch (error) {
    // Another run has installed it meanwhile.
    if (!existsSync(programs(folder))) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return programs(folder);
}
