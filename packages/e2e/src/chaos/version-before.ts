import { join } from "node:path";
import { type Migration, migrationsFolder, readMigrations } from "@herald/common/database/migrations-folder";
import { projectFolder } from "@herald/testkit/stack/folders";
import { runProgram } from "@herald/testkit/stack/programs";
import { buildBaseline } from "../baseline.ts";

/** What an upgrade begins with, built. */
export interface VersionBefore {
  /** For people. */
  name: string;
  /** Of its code. */
  folder: string;
}

/** Nothing can be shown of an upgrade: there is no version before, or none that this one can follow. */
export class NoUpgradeError extends Error {}

/**
 * Builds the version before this one.
 *
 * @param asked a commit of this repository; the newest release where absent
 * @throws NoUpgradeError where no release is known, and where a database of that version can't be migrated to this one
 */
export async function buildVersionBefore(
  asked: string | undefined,
  progress: (text: string) => void,
): Promise<VersionBefore> {
  const name = asked ?? (await newestRelease());
  if (name === undefined) {
    throw new NoUpgradeError(
      "No release is known here, so there is no version before. Name one: --baseline COMMIT. Where there are releases, this " +
        "clone lacks their tags: git fetch --tags.",
    );
  }
  const folder = await buildBaseline(name, progress, (unpacked) => {
    const obstacle = upgradeObstacle(
      readMigrations(join(unpacked, "prisma", "migrations")),
      readMigrations(migrationsFolder()),
    );
    if (obstacle === undefined) return;
    throw new NoUpgradeError(
      `A database of ${name} can't be upgraded to this version: ${obstacle}. Name a commit whose migrations are all ` +
        "here as they were: --baseline COMMIT.",
    );
  });
  return { name, folder };
}

/** The newest release's tag; undefined where this clone knows of none. */
export async function newestRelease(): Promise<string | undefined> {
  const args = ["tag", "--list", "v[0-9]*", "--sort=-version:refname"];
  const tags = await runProgram("git", args, { what: "Looking for the newest release", cwd: projectFolder() });
  return tags.split("\n")[0]?.trim() || undefined;
}

/** Why a database with these migrations can't get those that are here; undefined where it can. */
export function upgradeObstacle(before: readonly Migration[], here: readonly Migration[]): string | undefined {
  const known = new Map(here.map(({ name, checksum }) => [name, checksum]));
  for (const { name, checksum } of before) {
    if (!known.has(name)) return `its migration ${name} is not here`;
    if (known.get(name) !== checksum) return `its migration ${name} has another text here`;
  }
  return undefined;
}
