import { commandLine, parentOf } from "./lock-file.ts";

export interface StopRequest {
  /** Resolves with the usual exit code for the signal. */
  asked: Promise<number>;
  /** Aborted at the same moment. */
  signal: AbortSignal;
}

/** A terminal and the package manager may both pass on one ctrl-C; later than this it is a second one. */
const SAME_REQUEST_MS = 1_000;

/**
 * Reports when this process should end: at a signal, or when the command that runs it has ended. At a second signal the
 * process ends at once, together with everything that it started.
 */
export function stopRequest(): StopRequest {
  const controller = new AbortController();
  let askedAt = 0;
  const asked = new Promise<number>((resolve) => {
    const ask = (why: string, code: number) => {
      if (controller.signal.aborted) {
        if (Date.now() - askedAt > SAME_REQUEST_MS) process.exit(code);
        return;
      }
      askedAt = Date.now();
      console.error(`\nStopping ... (${why})`);
      controller.abort(new Error(`Interrupted: ${why}.`));
      resolve(code);
    };
    const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
    for (const [name, code] of Object.entries(signals)) process.on(name, () => ask(name, code));
    whenRunnerEnds(() => ask("the command that started this has ended", 143));
  });
  return { asked, signal: controller.signal };
}

const CHECK_MS = 500;

/**
 * Calls back when the package manager's command that runs this process has ended. A shell between the two may die of a signal
 * without passing it on, and what it ran would stay behind, unseen. Never for a process that was started directly.
 */
function whenRunnerEnds(callback: () => void): void {
  const watched = runners();
  const timer = setInterval(() => {
    if (watched.every((pid) => commandLine(pid) !== "")) return;
    clearInterval(timer);
    callback();
  }, CHECK_MS);
  timer.unref();
}

/** The processes between this one and the person's shell: pnpm, npx, and shells that they run a script with. */
function runners(): number[] {
  const found: number[] = [];
  if (process.env.npm_lifecycle_event === undefined) return found;
  for (let pid = process.ppid; pid > 1; pid = parentOf(pid) ?? 0) {
    if (!/\b(pnpm|npm|npx|corepack)\b|^(\/bin\/)?sh -c /.test(commandLine(pid))) break;
    found.push(pid);
  }
  return found;
}
