import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { commandLine, isAlive, type ProcessIdentity } from "./process-identity.ts";

/**
 * Locks a file for this process. A lock whose process has ended is taken over.
 *
 * @returns undefined when this process has the lock, else the process that has it
 */
export function acquireLock(file: string): ProcessIdentity | undefined {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ pid: process.pid, mark: commandLine(process.pid) }), { mode: 0o600 });
  try {
    for (;;) {
      if (linked(draft, file)) return undefined;
      const holder = readHolder(file);
      if (holder !== undefined && isAlive(holder)) return holder;
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A link appears together with its content, and fails where the file exists: of two processes that start at once, one gets it. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

export function releaseLock(file: string): void {
  if (readHolder(file)?.pid === process.pid) rmSync(file, { force: true });
}

function readHolder(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
