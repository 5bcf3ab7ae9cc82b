import { parentEnds } from "../stack/parent.ts";

export interface StopRequest {
  /** Resolves with the exit code that is the custom for what asked. */
  asked: Promise<number>;
  /** Aborted at the same moment. */
  signal: AbortSignal;
}

/** Hears when this process should end: by a signal, or because the command that runs it has ended. Asking again changes nothing. */
export function stopRequest(): StopRequest {
  const controller = new AbortController();
  const asked = new Promise<number>((resolve) => {
    const ask = (why: string, code: number) => {
      if (controller.signal.aborted) return;
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
