import { parentEnds } from "./parent.ts";

export interface StopRequest {
  /** Resolves with the exit code that is the custom for what asked. */
  asked: Promise<number>;
  /** Aborted at the same moment. */
  signal: AbortSignal;
}

/** A terminal and the package manager may both pass on one ctrl-C; later than this it is a second one. */
const SAME_REQUEST_MS = 1_000;

/**
 * Hears when this process should end: by a signal, or because the command that runs it has ended. Who asks a second time
 * has no patience left: then it ends at once, and everything that it started with it.
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
    void parentEnds().then(() => ask("the command that started this has ended", 143));
  });
  return { asked, signal: controller.signal };
}
