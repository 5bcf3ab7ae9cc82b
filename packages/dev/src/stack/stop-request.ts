export interface StopRequest {
  /** Resolves with the usual exit code for the signal. */
  asked: Promise<number>;
  /** Aborted at the same moment. */
  signal: AbortSignal;
}

/** A terminal and the package manager may both pass on one ctrl-C; later than this it is a second one. */
const SAME_REQUEST_MS = 1_000;

/**
 * Reports the first signal that asks this process to end. At a second one it ends at once, together with everything that it started.
 */
export function stopRequest(): StopRequest {
  const controller = new AbortController();
  let askedAt = 0;
  const asked = new Promise<number>((resolve) => {
    const ask = (signal: string, code: number) => {
      if (controller.signal.aborted) {
        if (Date.now() - askedAt > SAME_REQUEST_MS) process.exit(code);
        return;
      }
      askedAt = Date.now();
      console.error(`\nStopping ... (${signal})`);
      controller.abort(new Error(`Interrupted: ${signal}.`));
      resolve(code);
    };
    const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
    for (const [name, code] of Object.entries(signals)) process.on(name, () => ask(name, code));
  });
  return { asked, signal: controller.signal };
}
