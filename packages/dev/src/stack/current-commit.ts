import { projectFolder } from "./folders.ts";
import { runProgram } from "./programs.ts";

/** What is checked out, as git names it. What a run before this one has saved below `docs` is no change of the code. */
export async function currentCommit(): Promise<string> {
  const git = async (...args: string[]) =>
    (await runProgram("git", args, { what: "Reading which commit is checked out", cwd: projectFolder() })).trim();
  const commit = await git("rev-parse", "--short=12", "HEAD");
  return (await git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)docs")) === ""
    ? commit
    : `${commit}-dirty`;
}
