import { Counts } from "@herald/common/runtime/counts";
import type { ProblemError } from "../problems/problem-error.ts";

export interface KeyedLimiterOptions {
  /** How many tasks of one key run at once; no limit if absent. */
  perKey?: number;
  /** How many tasks of all keys together run at once; no limit if absent. */
  together?: number;
  maxWaitMs: number;
  refusal: () => ProblemError;
}

export type KeyedLimiter = ReturnType<typeof createKeyedLimiter>;

interface WaitingTask {
  key: string;
  start(): void;
}

/**
 * Limits how many tasks run at once. The others wait, and hold nothing.
 *
 * The next task to run is the oldest one of the key that has the fewest running: a key with a thousand waiting tasks delays
 * another key by no more than it has running. Tasks of one key run in the order of their calls.
 */
export function createKeyedLimiter(options: KeyedLimiterOptions) {
  const { perKey = Number.POSITIVE_INFINITY, together = Number.POSITIVE_INFINITY, maxWaitMs, refusal } = options;
  const running = new Counts<string>();
  let total = 0;
  const waiting = new Set<WaitingTask>();

  const hasPlace = (key: string) => running.of(key) < perKey && total < together;

  function count(key: string, change: 1 | -1): void {
    total += change;
    running.add(key, change);
  }

  async function acquire(key: string): Promise<void> {
    if (hasPlace(key)) {
      count(key, 1);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(task);
        reject(refusal());
      }, maxWaitMs);
      const task = {
        key,
        start: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      waiting.add(task);
    });
  }

  /** The place goes straight to a waiting task, so no later call can take it. */
  function release(key: string): void {
    count(key, -1);
    let next: WaitingTask | undefined;
    for (const task of waiting) {
      const isFewer = next === undefined || running.of(task.key) < running.of(next.key);
      if (isFewer && hasPlace(task.key)) next = task;
    }
    if (next === undefined) return;
    waiting.delete(next);
    count(next.key, 1);
    next.start();
  }

  return {
    /** @throws ProblemError if the task has waited too long; then it was never started */
    async run<T>(key: string, task: () => Promise<T>): Promise<T> {
      await acquire(key);
      try {
        return await task();
      } finally {
        release(key);
      }
    },
  };
}
