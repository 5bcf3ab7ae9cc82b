import { isDataError } from "@herald/common/database/errors";
import { batcher } from "@herald/common/runtime/batcher";
import { retry } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";

export interface ReaderParts {
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

/** Tries a statement until PostgreSQL answers. Says once, in these words, that it waits. An error that another try can't mend is thrown. */
export function untilAnswered<T>(
  { log, signal }: ReaderParts,
  words: string,
  statement: () => Promise<T>,
  isFinal: (error: unknown) => boolean = isDataError,
): Promise<T> {
  return retry(statement, {
    shouldRetry: (error) => !isFinal(error),
    onFirstFailure: (error) => log.error(words, { error }),
    signal,
  });
}

/** Reads single items, up to `maxItems` of them with one statement. While PostgreSQL is out of reach, it waits. */
export function reader<Item, Result>(
  parts: ReaderParts,
  { words, maxItems }: { words: string; maxItems: number },
  statement: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  return batcher<Item, Result>((items) => untilAnswered(parts, words, () => statement(items)), {
    maxItems,
    maxRunning: 2,
  });
}
