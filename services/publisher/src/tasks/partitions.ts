import { isTooMuch } from "@herald/common/database/errors";
import { retry } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";
import { makePartitions, type Partition, readPartitions } from "../sql/partitions.ts";
import { stepFailed } from "./task.ts";

export const DAY_MS = 24 * 60 * 60_000;

/** Partitions are made for this many days ahead. Every publisher may be down for this long: without a partition nothing can be stored. */
const DAYS_AHEAD = 8;

/** The history has about this many partitions. A statement locks all of them, also those that it does not need. */
const KEPT_PARTITIONS = 45;

/** For how long events are delivered, and undelivered ones are known, and for how long everything is kept, in milliseconds. */
export type Keeping = { windowMs: number; keepMs: number };

/**
 * The missing partitions: from a day before the window to {@link DAYS_AHEAD}. Each has as many days as it takes to have never more than some fifty.
 * Each begins where an existing one ends, and ends where the next one begins, since those may have been made with another `keepMs`.
 */
export function missingPartitions(
  there: readonly Partition[],
  { now, windowMs, keepMs }: Keeping & { now: Date },
): Partition[] {
  const days = Math.ceil(keepMs / DAY_MS / KEPT_PARTITIONS);
  const last = dayOf(new Date(now.getTime() + DAYS_AHEAD * DAY_MS));
  const missing: Partition[] = [];
  let first = dayOf(new Date(now.getTime() - windowMs - DAY_MS));
  while (first <= last) {
    const here = there.find((each) => each.first <= first && first < each.end);
    if (here) {
      first = here.end;
      continue;
    }
    const later = there.map((each) => each.first).filter((each) => each > first);
    const end = [dayOf(new Date(startOf(first).getTime() + days * DAY_MS)), ...later].sort()[0] as string;
    missing.push({ first, end });
    first = end;
  }
  return missing;
}

/** "2026-11-21" of a time in UTC. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

export function startOf(day: string): Date {
  return new Date(`${day}T00:00:00.000Z`);
}

/**
 * Makes the missing partitions. One that can't be made now delays no other; the next pass tries it again. A later pass also fills gaps that another
 * publisher, with a longer or shorter `keepMs`, has left.
 */
export async function makeAhead(parts: Basics, keeping: Keeping, signal: AbortSignal): Promise<void> {
  const { queries, clock } = parts;
  const there = await readPartitions(queries);
  const failed: string[] = [];
  let error: unknown;
  for (const partition of missingPartitions(there, { now: clock.now(), ...keeping })) {
    if (signal.aborted) return;
    try {
      await retryLocked(() => makePartitions(queries, partition), signal);
    } catch (reason) {
      failed.push(partition.first);
      error = reason;
    }
  }
  const failure = "partitions can't be made now; the next pass tries again";
  if (failed.length > 0) stepFailed(parts, "partitions", failure, { days: failed, error });
}

const TRIES = 5;

/**
 * Runs a step that locks whole tables. It waits for its lock only very shortly, since every other statement waits behind it. So it is tried several
 * times, with pauses in which the other statements run. An error that is not about a lock ends it at once.
 */
export async function retryLocked<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  let tries = 0;
  return await retry(step, {
    shouldRetry: (error) => isTooMuch(error) && ++tries < TRIES,
    onFirstFailure: () => {},
    signal,
    firstDelayMs: 200,
  });
}
