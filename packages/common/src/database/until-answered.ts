import { retry } from "../runtime/repeat.ts";
import type { Log } from "../telemetry/log.ts";
import { isDataError, isTooMuch, withRemedy } from "./errors.ts";

/** Runs a statement until PostgreSQL answers. Logs these words once while it waits. @throws an error that another try can't mend */
export function untilAnswered<T>(
  { log, signal }: { log: Log; signal: AbortSignal },
  words: string,
  statement: () => Promise<T>,
  isFinal = (error: unknown) => isDataError(error) || isTooMuch(error),
): Promise<T> {
  return retry(statement, {
    shouldRetry: (error) => !isFinal(error),
    onFirstFailure: (error) => log.error(withRemedy(words, error), { error }),
    signal,
  });
}
