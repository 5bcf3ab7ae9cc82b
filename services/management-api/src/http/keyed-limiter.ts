import { ProblemError } from "../problems/problem-error.ts";

export interface KeyedLimiterOptions {
  /** How many tasks of one key run at once. */
  concurrency: number;
  /** How long a task waits before it is refused. */
  maxWaitMs: number;
  /** What a refused caller is told to wait. */
  retryAfterS: number;
}

/** Limits how many tasks of a key run at once. The others wait in the order of the calls, and hold nothing. */
export interface KeyedLimiter {
  /** @throws ProblemError `too_many_requests` where the task has waited too long; it was not started then */
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

/**
 * Why the API needs it: creates of one organization wait for each other in PostgreSQL, and each holds a connection
 * meanwhile. A hundred at once would hold the whole pool, and every other organization would wait for them. A hundred slow
 * reads would do the same.
 */
export function createKeyedLimiter({ concurrency, maxWaitMs, retryAfterS }: KeyedLimiterOptions): KeyedLimiter {
  // Holds only keys that have a running task, so it stays as small as the work under way.
  const byKey = new Map<string, { running: number; waiting: Set<() => void> }>();

  async function acquire(key: string): Promise<void> {
    const tasks = byKey.get(key) ?? { running: 0, waiting: new Set() };
    byKey.set(key, tasks);
    if (tasks.running < concurrency) {
      tasks.running++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        tasks.waiting.delete(start);
        reject(tooMany(retryAfterS));
      }, maxWaitMs);
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      tasks.waiting.add(start);
    });
  }

  function release(key: string): void {
    const tasks = byKey.get(key);
    if (tasks === undefined) return;
    const [next] = tasks.waiting;
    if (next !== undefined) {
      // The place goes straight to the next task, so no later call can take it.
      tasks.waiting.delete(next);
      next();
      return;
    }
    tasks.running--;
    if (tasks.running === 0) byKey.delete(key);
  }

  return {
    async run(key, task) {
      await acquire(key);
      try {
        return await task();
      } finally {
        release(key);
      }
    },
  };
}

function tooMany(retryAfterS: number): ProblemError {
  return new ProblemError("too_many_requests", {
    detail: `The organization asks for more at once than can be done. Try again in ${retryAfterS} s, one after the other.`,
    headers: { "Retry-After": String(retryAfterS) },
  });
}
