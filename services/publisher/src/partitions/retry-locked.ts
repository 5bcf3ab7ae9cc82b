import { isTooMuch } from "@herald/common/database/errors";
import { retry } from "@herald/common/runtime/retry";

const TRIES = 5;

/**
 * Runs a step that locks whole tables. It waits for a lock only very shortly, since everybody waits behind it; so it is tried
 * some times, with pauses in which the others go on.
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
