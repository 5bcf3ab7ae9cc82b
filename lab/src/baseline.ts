import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { localFolder, projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";

const BUILD_TIMEOUT_MS = 30 * 60_000;

/**
 * Builds an earlier commit beside this one, in the local folder, once: what rows are compared with.
 *
 * @param commit of this repository, whose processes take the same settings and speak to the same servers
 * @returns the folder of its code
 */
export async function buildBaseline(commit: string, progress: (text: string) => void): Promise<string> {
  const git = (args: string[], what: string) => runProgram("git", args, { what, cwd: projectFolder() });
  const hash = (
    await git(["rev-parse", "--verify", "--end-of-options", `${commit}^{commit}`], `Looking for the commit ${commit}`)
  ).trim();
  const folder = join(localFolder(), "baseline", hash.slice(0, 12));
  const built = join(folder, ".built");
  if (existsSync(built)) return folder;
  progress(`Building ${commit}, which takes some minutes`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // An archive and no worktree: git has nothing to forget when the folder goes.
  const archive = join(folder, "code.tar");
  await git(["archive", "--output", archive, hash], `Reading ${commit}`);
  const inside = { cwd: folder, timeoutMs: BUILD_TIMEOUT_MS };
  await runProgram("tar", ["-xf", archive], { what: `Unpacking ${commit}`, ...inside });
  const pnpm = (args: string[], what: string) => runProgram("npx", ["-y", "pnpm@12", ...args], { what, ...inside });
  await pnpm(["install", "--frozen-lockfile"], `Installing ${commit}`);
  await pnpm(["build"], `Building ${commit}`);
  rmSync(archive);
  writeFileSync(built, "");
  return folder;
}
