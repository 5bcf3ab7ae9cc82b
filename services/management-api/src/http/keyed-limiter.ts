import { ProblemError } from "../problems/problem-error.ts";

export interface TurnsOptions {
  /** Tasks of one key that run at once. */
  atOnce: number;
  /** How long one waits for its turn before it's refused. */
  longestWaitMs: number;
}

/** Lets a few tasks of each key run at once, in the order of the calls; the others wait here, and hold nothing. */
export interface Turns {
  /** @throws ProblemError `too_many_requests` where its turn doesn't come in time; the task wasn't begun then */
  take<T>(key: string, task: () => Promise<T>): Promise<T>;
}

const RETRY_AFTER_S = 5;

/**
 * Why it's needed: creates of one organization wait for each other in PostgreSQL, each with a connection in its hand. A
 * hundred at once would hold the whole pool, and every other organization would wait for them.
 */
export function createTurns({ atOnce, longestWaitMs }: TurnsOptions): Turns {
  // Holds only keys at work, so it is as small as the work under way.
  const lines = new Map<string, { running: number; waiting: Set<() => void> }>();

  async function turnOf(key: string): Promise<void> {
    const line = lines.get(key) ?? { running: 0, waiting: new Set() };
    lines.set(key, line);
    if (line.running < atOnce) {
      line.running++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        line.waiting.delete(begin);
        reject(tooMany());
      }, longestWaitMs);
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      line.waiting.add(begin);
    });
  }

  function pass(key: string): void {
    const line = lines.get(key);
    if (line === undefined) return;
    const [next] = line.waiting;
    if (next !== undefined) {
      // The place goes from one to the other: nobody can come in between.
      line.waiting.delete(next);
      next();
      return;
    }
    line.running--;
    if (line.running === 0) lines.delete(key);
  }

  return {
    async take(key, task) {
      await turnOf(key);
      try {
        return await task();
      } finally {
        pass(key);
      }
    },
  };
}

function tooMany(): ProblemError {
  return new ProblemError("too_many_requests", {
    detail: `The organization makes more changes at once than can be made. Try again in ${RETRY_AFTER_S} s, one after the other.`,
    headers: { "Retry-After": String(RETRY_AFTER_S) },
  });
}
