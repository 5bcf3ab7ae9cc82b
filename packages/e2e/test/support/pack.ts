import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { localFolder, projectFolder } from "@herald/dev/stack/folders";
import { acquireLock, releaseLock } from "@herald/dev/stack/lock-file";
import { BUILD_TIMEOUT_MS, output } from "../../src/child.ts";

/** The folders of packages that are published: those that don't say that they are private. */
export const PACKAGES = readdirSync(join(projectFolder(), "packages")).filter((name) => {
  const manifest = join(projectFolder(), "packages", name, "package.json");
  return existsSync(manifest) && !JSON.parse(readFileSync(manifest, "utf8")).private;
});

/** The packages that others import. The remaining one is only a command. */
export const LIBRARIES = PACKAGES.filter((name) => name !== "listen");

/** Packs what is published, as others get it. Returns the tarballs in the folder. */
export async function packPackages(folder: string): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  const lock = join(localFolder(), "pack.json");
  // Packing compiles into the packages' folders, and two test files may want it at once.
  await eventually(() => lockOnce(lock), { timeoutMs: BUILD_TIMEOUT_MS, intervalMs: 500 });
  try {
    const packages = PACKAGES.flatMap((name) => ["--filter", `./packages/${name}`]);
    await output(
      process.execPath,
      [".ci/pnpm.mjs", "-r", ...packages, "pack", "--pack-destination", folder],
      projectFolder(),
    );
  } finally {
    releaseLock(lock);
  }
  return readdirSync(folder).map((name) => join(folder, name));
}

/** The entries of a packed package, as its `exports` name them: ".", "./outbox". */
export function entriesOf(folder: string): string[] {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, object>;
  return Object.entries(exports ?? {}).flatMap(([path, target]) => (typeof target === "object" ? [path] : []));
}

/** Locks it. */
function lockOnce(lock: string): void {
  const other = acquireLock(lock);
  if (other !== undefined) throw new Error(`Process ${other.pid} packs.`);
}
