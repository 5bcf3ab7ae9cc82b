import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { localFolder } from "./folders.ts";

/**
 * Keeps what `fetch` puts into a folder in `.local`, by what it is: whole or not at all, whatever ends the run.
 *
 * @param what names it exactly, versions included
 * @returns the folder
 */
export async function fetchOnce(what: string, fetch: (folder: string) => Promise<void>): Promise<string> {
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
