import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

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

/** Fills a folder, which appears whole or not at all. Another run may fill it at the same time: `isFilled` says whether the folder has what it is for. */
export async function fillOnce(
  folder: string,
  isFilled: () => boolean,
  fill: (draft: string) => Promise<void>,
): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(join(dirname(folder), "draft-"));
  try {
    await fill(draft);
    renameSync(draft, folder);
  } catch (error) {
    if (!isFilled()) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
