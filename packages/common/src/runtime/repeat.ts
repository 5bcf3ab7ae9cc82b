import { setTimeout as sleep } from "node:timers/promises";

/** Work that is done again and again until it's stopped. */
export interface Repetition {
  /** Starts the next turn without waiting for the interval; while one runs, another follows it. */
  wake(): void;
  /** Lets the turn under way finish, and starts no other. */
  stop(): Promise<void>;
}

/** Runs `turn` at once and then every `intervalMs`, never twice at a time. A turn that fails is reported, and the next one runs as usual. */
export function repeat(
  turn: (signal: AbortSignal) => Promise<unknown>,
  { intervalMs, onFailure }: { intervalMs: number; onFailure: (error: unknown) => void },
): Repetition {
  const stopping = new AbortController();
  let pause = new AbortController();
  let triggered = false;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      triggered = false;
      try {
        await turn(stopping.signal);
      } catch (error) {
        if (!stopping.signal.aborted) onFailure(error);
      }
      if (stopping.signal.aborted || triggered) continue;
      pause = new AbortController();
      await sleep(intervalMs, undefined, { signal: pause.signal }).catch(() => {});
    }
  }

  const running = run();
  return {
    wake() {
      triggered = true;
      pause.abort();
    },
    async stop() {
      stopping.abort();
      pause.abort();
      await running;
    },
  };
}
