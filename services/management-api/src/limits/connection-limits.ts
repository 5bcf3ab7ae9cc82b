import { Counts } from "@herald/common/runtime/counts";
import { ProblemError } from "../problems/problem-error.ts";

export type ConnectionLimits = ReturnType<typeof connectionLimits>;

/** How many connections the reads of all organizations together leave free for writes. */
const LEFT_TO_WRITES = 2;
/** How long a write waits for earlier writes of its organization; a hundred creates take a second or two. */
const WRITE_WAIT_MS = 15_000;
/** A read waits for other reads of its organization no longer than a person does. */
const READ_WAIT_MS = 5_000;
/** How long a read waits for reads of other organizations. A client that can't be served soon gets an error at once. */
const OTHERS_WAIT_MS = 1_000;

/**
 * Limits how many connections of the pool each organization may hold. A statement may take seconds: PostgreSQL may be overloaded, a
 * row may be locked, and creates of one organization wait for each other. Other organizations always find connections.
 */
export function connectionLimits(poolSize: number) {
  const forReads = poolSize - LEFT_TO_WRITES;
  const share = (part: number) => Math.max(1, Math.floor(poolSize / part));
  /** No organization has all of the places that reads of a kind share. */
  const reads = (places: number): KeyedLimiter => {
    const perKey = Math.max(1, places - 1);
    const own = createKeyedLimiter({ perKey, maxWaitMs: READ_WAIT_MS, refusal: () => tooMany(1) });
    const all = createKeyedLimiter({ together: Math.max(1, places), maxWaitMs: OTHERS_WAIT_MS, refusal: busy });
    return { run: (organizationId, read) => own.run(organizationId, () => all.run(organizationId, read)) };
  };
  return {
    /** Reads that look at a few rows. */
    simpleReads: reads(Math.ceil(forReads / 2)),
    /** Reads that count as several against the allowance. They share places of their own, so simple reads get past them. */
    expensiveReads: reads(Math.floor(forReads / 2)),
    writes: createKeyedLimiter({ perKey: share(3), maxWaitMs: WRITE_WAIT_MS, refusal: () => tooMany(5) }),
  };
}

function tooMany(seconds: number): ProblemError {
  const detail = `The organization asks for more at once than can be done. Try again in ${seconds} s, one after the other.`;
  return new ProblemError("too_many_requests", { detail, headers: { "Retry-After": String(seconds) } });
}

function busy(): ProblemError {
  const detail = "The database is busy with what others read. Try again in 1 s.";
  return new ProblemError("read_out_of_time", { detail, headers: { "Retry-After": "1" } });
}

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
