import { ProblemError } from "../problems/problem-error.ts";
import { createKeyedLimiter, type KeyedLimiter } from "./keyed-limiter.ts";

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
 *
 * @param poolSize the connections of this process
 */
export function connectionLimits(poolSize: number) {
  const forReads = poolSize - LEFT_TO_WRITES;
  const share = (part: number) => Math.max(1, Math.floor(poolSize / part));
  /** No organization has all of the places that reads of a kind share. */
  const reads = (places: number) =>
    inTurn(
      createKeyedLimiter({ perKey: Math.max(1, places - 1), maxWaitMs: READ_WAIT_MS, refusal: () => tooMany(1) }),
      createKeyedLimiter({ together: Math.max(1, places), maxWaitMs: OTHERS_WAIT_MS, refusal: busy }),
    );
  return {
    /** Reads that look at a few rows. */
    simpleReads: reads(Math.ceil(forReads / 2)),
    /** Reads that count as several against the allowance. They share places of their own, so simple reads get past them. */
    expensiveReads: reads(Math.floor(forReads / 2)),
    writes: createKeyedLimiter({ perKey: share(3), maxWaitMs: WRITE_WAIT_MS, refusal: () => tooMany(5) }),
  };
}

/** Lets a task pass the first limiter, and then the second one. */
function inTurn(first: KeyedLimiter, second: KeyedLimiter): KeyedLimiter {
  return { run: (key, task) => first.run(key, () => second.run(key, task)) };
}

function tooMany(seconds: number): ProblemError {
  const detail = `The organization asks for more at once than can be done. Try again in ${seconds} s, one after the other.`;
  return new ProblemError("too_many_requests", { detail, headers: { "Retry-After": String(seconds) } });
}

function busy(): ProblemError {
  const detail = "The database is busy with what others read. Try again in 1 s.";
  return new ProblemError("read_out_of_time", { detail, headers: { "Retry-After": "1" } });
}
