import { join } from "node:path";
import { localFolder } from "../stack/folders.ts";
import { acquireLock, releaseLock } from "../stack/lock-file.ts";
import { readRunFile } from "./local-files.ts";

/** Makes this process the only one of this checkout that starts Herald, until it ends. @throws where another one does */
export function becomeOnlyOne(): void {
  const lockFile = join(localFolder(), "start.json");
  const other = acquireLock(lockFile);
  if (other !== undefined) throw new Error(alreadyRuns(other.pid));
  process.on("exit", () => releaseLock(lockFile));
}

function alreadyRuns(pid: number): string {
  const end = `End that one first, with ctrl-C or "kill ${pid}".`;
  try {
    return `Herald runs already, started from this folder by process ${pid}: ${readRunFile(localFolder()).adminSignInUrl}\n${end}`;
  } catch {
    return `Herald is being started from this folder by process ${pid}.\n${end}`;
  }
}
