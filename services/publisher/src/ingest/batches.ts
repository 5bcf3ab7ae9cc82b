export interface BatchOptions<Item> {
  /** Items of one batch, at the most. */
  maxItems: number;
  /** Bytes of one batch, at the most; a batch of one item may have more. */
  maxBytes: number;
  /** Batches that run at once. */
  maxRunning: number;
  /** Batches that run besides them, of groups of which nothing else runs; none where absent. */
  maxApart?: number;
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
 * Groups of which nothing runs go first, without the others. So while one group has thousands of items, those of another wait neither
 * for its batches nor in them.
 *
 * @param run never throws
 */
export function batchesByTurns<Item>(
  run: (batch: readonly Item[]) => Promise<void>,
  { maxItems, maxBytes, maxRunning, maxApart = 0, bytesOf, groupOf }: BatchOptions<Item>,
): Batches<Item> {
  /** In the order of their turns. */
  const waiting = new Map<string, Item[]>();
  const running = new Set<Promise<void>>();
  /** How many of the batches that run have something of a group. */
  const runningOf = new Map<string, number>();
  let scheduled = false;

  const isIdle = (group: string) => !runningOf.has(group);

  function mayStart(): boolean {
    if (waiting.size === 0 || running.size >= maxRunning + maxApart) return false;
    return running.size < maxRunning || [...waiting.keys()].some(isIdle);
  }

  function count(groups: ReadonlySet<string>, by: number): void {
    for (const group of groups) {
      const now = (runningOf.get(group) ?? 0) + by;
      if (now > 0) runningOf.set(group, now);
      else runningOf.delete(group);
    }
  }

  function schedule(): void {
    if (scheduled || !mayStart()) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      // What waited may have been dropped meanwhile.
      if (mayStart()) start();
      schedule();
    });
  }

  function start(): void {
    const batch = take();
    const groups = new Set(batch.map(groupOf));
    count(groups, 1);
    const done = run(batch).finally(() => {
      running.delete(done);
      count(groups, -1);
      schedule();
    });
    running.add(done);
  }

  function take(): Item[] {
    const batch: Item[] = [];
    let bytes = 0;
    const onlyIdle = [...waiting.keys()].some(isIdle);
    for (const [group, items] of waiting) {
      if (onlyIdle && !isIdle(group)) continue;
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
