import type { Log } from "../telemetry/log.ts";
import { isDataError, isTooMuch } from "./errors.ts";
import type { Progress } from "./statement-failures.ts";

export interface BatchesOptions {
  /** The largest size, which is also the first. */
  max: number;
  /** What is done, in the plural, for the log. */
  what: string;
  log: Pick<Log, "info" | "warn">;
  progress: Progress;
}

export interface BatchOutcome<Item, Result> {
  results: Result[];
  /** Items that fail also alone, each with its error: PostgreSQL refuses them, or can't do even one of them in time. */
  setAside: { item: Item; error: unknown }[];
}

/**
 * Makes a statement over many items that gets smaller when it has to. A statement that ran out of time, waited too long for
 * a lock or met a deadlock would do the same again, before the work of all others; so would one with an item that PostgreSQL
 * refuses. The batch is halved then, down to one item, which is set aside. After a success the batches grow again.
 *
 * The log has one line when statements begin to run out of time or to wait for a lock, and one when they succeed again.
 * @param run gets 1 to `max` items in their order; any other error of it ends the call
 */
export function shrinkingBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  { max, what, log, progress }: BatchesOptions,
): (items: readonly Item[]) => Promise<BatchOutcome<Item, Result>> {
  let size = max;
  let isWaiting = false;
  function waits(is: boolean, error?: unknown): void {
    if (is && !isWaiting) log.warn(`${what} wait for a lock or run out of time; fewer are tried at once`, { error });
    if (!is && isWaiting) log.info(`${what} wait for no lock any more, and end in time`);
    isWaiting = is;
  }
  return async (items) => {
    const outcome: BatchOutcome<Item, Result> = { results: [], setAside: [] };
    for (let next = 0; next < items.length; ) {
      const batch = items.slice(next, next + size);
      try {
        outcome.results.push(...(await progress.run(() => run(batch))));
        waits(false);
      } catch (error) {
        if (isTooMuch(error)) waits(true, error);
        else if (!isDataError(error)) throw error;
        if (batch.length > 1) {
          size = Math.ceil(batch.length / 2);
          continue;
        }
        outcome.setAside.push({ item: batch[0] as Item, error });
      }
      next += batch.length;
      size = Math.min(max, size * 2);
    }
    return outcome;
  };
}

/**
 * Like {@link shrinkingBatches}, for a statement that selects its own rows and takes their number. If that is too much for PostgreSQL, it runs again
 * with half as many, down to one.
 * @throws the statement's error if fewer rows can't help, or one is too much
 */
export function shrinkingPages({ max }: { max: number }): <T>(run: (size: number) => Promise<T>) => Promise<T> {
  let size = max;
  return async (run) => {
    for (;;) {
      const tried = size;
      try {
        const result = await run(tried);
        size = Math.min(max, tried * 2);
        return result;
      } catch (error) {
        if (!isTooMuch(error) || tried === 1) throw error;
        size = Math.ceil(tried / 2);
      }
    }
  };
}
