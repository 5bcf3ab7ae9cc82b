export interface BatcherOptions<Item> {
  maxItems: number;
  maxRunning: number;
  /**
   * For calls whose result is not urgent: a batch begins when `items` have gathered, or `forMs` after the first of them. An urgent item
   * begins its batch at once.
   */
  gather?: { items: number; forMs: number; isAwaited?: (item: Item) => boolean };
}

/**
 * Turns single calls into batches whose size follows the load. While fewer than `maxRunning` batches run, a call starts
 * one at the end of the current turn of the event loop, so that a single call waits for no timer. While they run,
 * calls gather, and the next batch takes them all. Each call gets its own item's result.
 *
 * `run` gets 1 to `maxItems` items in the order of the calls and returns as many results in the same order; where it
 * throws, every call of that batch throws the same.
 */
export function batcher<Item, Result>(
  run: (items: Item[]) => Promise<readonly Result[]>,
  { maxItems, maxRunning, gather = { items: 1, forMs: 0 } }: BatcherOptions<Item>,
): (item: Item) => Promise<Result> {
  interface Call {
    item: Item;
    resolve: (result: Result) => void;
    reject: (error: unknown) => void;
  }
  let waiting: Call[] = [];
  let running = 0;
  let scheduled = false;
  let gathering: NodeJS.Timeout | undefined;
  /** True once an item has waited long enough. */
  let ripe = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || running >= maxRunning) return;
    if (!ripe && waiting.length < gather.items) {
      gathering ??= setTimeout(() => {
        ripe = true;
        schedule();
      }, gather.forMs);
      return;
    }
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void runNext();
      schedule();
    });
  }

  async function runNext(): Promise<void> {
    const calls = waiting.length <= maxItems ? waiting : waiting.slice(0, maxItems);
    waiting = waiting.length <= maxItems ? [] : waiting.slice(maxItems);
    clearTimeout(gathering);
    gathering = undefined;
    ripe = waiting.length > 0;
    if (calls.length === 0) return;
    running++;
    try {
      const results = await run(calls.map((call) => call.item));
      if (results.length !== calls.length) {
        throw new Error(`A batch of ${calls.length} returned ${results.length} results.`);
      }
      for (const [index, call] of calls.entries()) call.resolve(results[index] as Result);
    } catch (error) {
      for (const call of calls) call.reject(error);
    } finally {
      running--;
      schedule();
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      ripe ||= gather.isAwaited?.(item) ?? false;
      schedule();
    });
}
