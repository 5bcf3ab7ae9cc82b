import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";

/**
 * Makes sure that one process at a time holds a file. A file whose process is gone is taken over.
 *
 * @returns the identity of the holder if that is another process that runs, else undefined: this process holds it now
 */
export function takeHold(file: string): ProcessIdentity | undefined {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(identify(process.pid)), { mode: 0o600 });
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

/** A link appears with its content, and fails where there is a file: of two that start at once, one gets it. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

export function letGo(file: string): void {
  if (readHolder(file)?.pid === process.pid) rmSync(file, { force: true });
}

function readHolder(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
