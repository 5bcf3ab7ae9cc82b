import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { localFolder, projectFolder } from "@herald/testkit/stack/folders";
import { runProgram } from "@herald/testkit/stack/programs";

const BUILD_TIMEOUT_MS = 30 * 60_000;

/** An earlier version, built. */
export interface Baseline {
  /** For people. */
  name: string;
  /** Of its code, as `buildBaseline` returns it. */
  folder: string;
}

/**
 * Builds the version before this one: a commit that was asked for, or the newest release. Before the first release, and in a clone that knows of
 * none, it is this checkout itself.
 */
export async function buildVersionBefore(
  commit: string | undefined,
  progress: (text: string) => void,
): Promise<Baseline> {
  const name = commit ?? (await newestRelease());
  if (name !== undefined) return { name, folder: await buildBaseline(name, progress) };
  return { name: "this one, since no release is known", folder: projectFolder() };
}

async function newestRelease(): Promise<string | undefined> {
  const args = ["tag", "--list", "v[0-9]*", "--sort=-version:refname"];
  const tags = await runProgram("git", args, { what: "Looking for the newest release", cwd: projectFolder() });
  return tags.split("\n")[0]?.trim() || undefined;
}

/**
 * Builds an earlier commit beside this one, in the local folder, once: what rows are compared with.
 *
 * @param commit of this repository, whose processes take the same settings and speak to the same servers
 * @returns the folder of its code
 */
export async function buildBaseline(commit: string, progress: (text: string) => void): Promise<string> {
  const git = (args: string[], what: string) => runProgram("git", args, { what, cwd: projectFolder() });
  const hash = (await git(["rev-parse", "--verify", `${commit}^{commit}`], `Looking for the commit ${commit}`)).trim();
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
