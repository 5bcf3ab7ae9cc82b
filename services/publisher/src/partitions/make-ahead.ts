import { isTooMuch } from "@herald/common/database/errors";
import { retry } from "@herald/common/runtime/repeat";
import { makePartitions, readPartitions } from "../sql/partitions.ts";
import { stepFailed, type TaskParts } from "../task.ts";
import { type Keeping, missingPartitions } from "./days.ts";

/**
 * Makes the partitions that are missing. One that can't be made now delays no other; the next pass tries it again. So it does with
 * what another publisher, which keeps things longer or shorter, has made otherwise meanwhile.
 *
 * @throws where PostgreSQL can't be asked which there are
 */
export async function makeAhead(parts: TaskParts, keeping: Keeping, signal: AbortSignal): Promise<void> {
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
 * Runs a step that locks whole tables. It waits for its lock only very shortly, since every other statement waits behind it. So it is
 * tried several times, with pauses in which the other statements go on.
 *
 * @throws the step's error after the last try, or another one than a lock's at once
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
