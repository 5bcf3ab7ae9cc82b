import { commandLine, identify, isAlive, type ProcessIdentity, parentOf } from "./process-identity.ts";

const CHECK_MS = 500;

/**
 * Resolves when the package manager's command that runs this process has ended. A shell between the two may die of a signal
 * without passing it on, and what it ran would stay behind, unseen. Never resolves for a process that was started directly.
 */
export async function parentEnds(): Promise<void> {
  const watched = runners();
  if (watched.length === 0) return await new Promise(() => {});
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (watched.every(isAlive)) return;
      clearInterval(timer);
      resolve();
    }, CHECK_MS);
    timer.unref();
  });
}

/** The processes between this one and the person's shell: pnpm, npx, and shells that they run a script with. */
function runners(): ProcessIdentity[] {
  const found: ProcessIdentity[] = [];
  if (process.env.npm_lifecycle_event === undefined) return found;
  for (let pid = process.ppid; pid > 1; pid = parentOf(pid) ?? 0) {
    const isRunner = /\b(pnpm|npm|npx|corepack)\b|^(\/bin\/)?sh -c /.test(commandLine(pid));
    const identity = identify(pid);
    if (!isRunner || identity === undefined) break;
    found.push(identity);
  }
  return found;
}
