import { isDataError } from "@herald/common/database/errors";
import { batcher } from "@herald/common/runtime/batcher";
import { retry } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";

/** Tries a statement until PostgreSQL answers. Logs these words once while it waits. Throws an error that another try can't mend. */
export function untilAnswered<T>(
  { log, signal }: Basics,
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
  parts: Basics,
  { words, maxItems }: { words: string; maxItems: number },
  statement: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  return batcher<Item, Result>((items) => untilAnswered(parts, words, () => statement(items)), {
    maxItems,
    maxRunning: 2,
  });
}
