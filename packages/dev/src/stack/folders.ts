import { existsSync, mkdirSync } from "node:fs";
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
