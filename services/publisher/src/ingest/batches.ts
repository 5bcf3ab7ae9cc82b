export interface BatchOptions<Item> {
  /** Items of one batch, at the most. */
  maxItems: number;
  /** Bytes of one batch, at the most; a batch of one item may have more. */
  maxBytes: number;
  /** Batches that run at once. */
  maxRunning: number;
  bytesOf(item: Item): number;
  /** Items take turns by this: a batch has something of each, as long as it has room. */
  groupOf(item: Item): string;
}

/** Items that wait until their batch runs. */
export interface Batches<Item> {
  add(item: Item): void;
  /** Forgets what waits, and returns it. */
  drop(): Item[];
  /** Resolves once no batch runs. */
  idle(): Promise<void>;
}

/**
 * Runs items in batches, as many of them as are there. While fewer than `maxRunning` run, an item starts one at the end of the
 * current turn of the event loop, so that a single item waits for no timer.
 *
 * @param run never throws
 */
export function batchesByTurns<Item>(
  run: (batch: readonly Item[]) => Promise<void>,
  { maxItems, maxBytes, maxRunning, bytesOf, groupOf }: BatchOptions<Item>,
): Batches<Item> {
  /** In the order of their turns. */
  const waiting = new Map<string, Item[]>();
  const running = new Set<Promise<void>>();
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.size === 0 || running.size >= maxRunning) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      start();
      schedule();
    });
  }

  function start(): void {
    const batch = take();
    if (batch.length === 0) return;
    const done = run(batch).finally(() => {
      running.delete(done);
      schedule();
    });
    running.add(done);
  }

  function take(): Item[] {
    const batch: Item[] = [];
    let bytes = 0;
    for (const [group, items] of waiting) {
      const [item] = items as [Item];
      bytes += bytesOf(item);
      if (batch.length === maxItems || (batch.length > 0 && bytes > maxBytes)) break;
      batch.push(item);
      items.shift();
      // Behind the others; this loop comes by here again.
      waiting.delete(group);
      if (items.length > 0) waiting.set(group, items);
    }
    return batch;
  }

  return {
    add(item) {
      const group = groupOf(item);
      const items = waiting.get(group);
      if (items) items.push(item);
      else waiting.set(group, [item]);
      schedule();
    },
    drop() {
      const dropped = [...waiting.values()].flat();
      waiting.clear();
      return dropped;
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
