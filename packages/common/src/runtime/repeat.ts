import { setTimeout as sleep } from "node:timers/promises";

export interface Repetition {
  /** Starts the next turn without waiting for the interval; while one runs, another follows it. */
  wake(): void;
  /** Lets the turn under way finish, and starts no other. */
  stop(): Promise<void>;
}

/** Runs `turn` at once and then again, `intervalMs` after its end. A turn that fails is reported, and the next one runs as usual. */
export function repeat(
  turn: (signal: AbortSignal) => Promise<unknown>,
  { intervalMs, onFailure }: { intervalMs: number | (() => number); onFailure: (error: unknown) => void },
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
      const ms = typeof intervalMs === "number" ? intervalMs : intervalMs();
      await sleep(ms, undefined, { signal: pause.signal }).catch(() => {});
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

export interface RetryOptions {
  /** Whether another try can succeed after this error; else it is thrown at once. */
  shouldRetry: (error: unknown) => boolean;
  /** Called for the first failure only, so that an outage is logged once. */
  onFirstFailure: (error: unknown) => void;
  /** Ends the waiting: the latest error is thrown. */
  signal: AbortSignal;
  firstDelayMs?: number;
}

const LONGEST_DELAY_MS = 2_000;

/**
 * Runs a task until it succeeds, with growing pauses between the tries. Their length is random, by up to a half: of several
 * processes that try the same, it is not always the same one that comes first.
 */
export async function retry<T>(
  task: () => Promise<T>,
  { shouldRetry, onFirstFailure, signal, firstDelayMs = 100 }: RetryOptions,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await task();
    } catch (error) {
      if (signal.aborted || !shouldRetry(error)) throw error;
      if (failures === 0) onFirstFailure(error);
      const delayMs = Math.min(firstDelayMs * 2 ** failures, LONGEST_DELAY_MS) * (0.5 + Math.random() / 2);
      await sleep(delayMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) throw error;
    }
  }
}

/**
 * Makes a function whose calls start a task at most once in a period, and never while it runs: a server that hangs gets one question, and not one
 * for each call. Calls in between get the answer of the latest run.
 */
export function atMostEach<T>(periodMs: number, task: () => Promise<T>): () => Promise<T> {
  let latest: { begunAt: number; isRunning: boolean; result: Promise<T> } | undefined;
  return () => {
    const begunAt = performance.now();
    if (latest === undefined || (!latest.isRunning && begunAt - latest.begunAt >= periodMs)) {
      const run = { begunAt, isRunning: true, result: task() };
      const end = () => {
        run.isRunning = false;
      };
      run.result.then(end, end);
      latest = run;
    }
    return latest.result;
  };
}

/** The result of the work, or `late` if that takes longer than `ms`. The work goes on; its failure is ignored then. @throws what the work throws in time */
export async function within<T, Late = undefined>(ms: number, work: Promise<T>, late?: Late): Promise<T | Late> {
  const over = new AbortController();
  const deadline = sleep(ms, late as Late, { signal: over.signal, ref: false }).catch(() => late as Late);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    over.abort();
  }
}
