import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "./programs.ts";

/** The repository's root, found upward from this module: the same from the sources and from the build. */
export function projectFolder(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "pnpm-workspace.yaml"))) return folder;
  }
  throw new Error(`${start} is not inside a checkout of Herald: no folder above it holds pnpm-workspace.yaml.`);
}

/** Where the local stack keeps everything: `.local/` in the checkout, or what HERALD_LOCAL_FOLDER names. */
export function localFolder(): string {
  const folder = resolve(process.env.HERALD_LOCAL_FOLDER || join(projectFolder(), ".local"));
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** What is checked out, as git names it. What a run before this one has saved below `docs` is no change of the code. */
export async function currentCommit(): Promise<string> {
  const git = async (...args: string[]) =>
    (await runProgram("git", args, { what: "Reading which commit is checked out", cwd: projectFolder() })).trim();
  const commit = await git("rev-parse", "--short=12", "HEAD");
  return (await git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)docs")) === ""
    ? commit
    : `${commit}-dirty`;
}
