import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chownSync, cpSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installedPostgres } from "./postgres-versions.ts";
import { succeeds } from "./programs.ts";

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

/**
 * Finds the PostgreSQL that npm has for this platform, in the version of POSTGRES_VERSION, and a place for its data that the server's user can use.
 *
 * @param folder where the data should live
 */
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
