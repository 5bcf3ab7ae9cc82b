import type { InboxMessage } from "./read-event.ts";

export interface BatchOptions<Item> {
  /** Items that a batch may have. */
  maxItems: number;
  /** Bytes that a batch may have; a batch of one item may have more. */
  maxBytes: number;
  /** Batches that may run at once. */
  maxRunning: number;
  /** Further batches for groups without a running batch; none by default. */
  maxApart?: number;
  bytesOf(item: Item): number;
  /** The group of an item. Groups take turns, and a turn is one item. */
  groupOf(item: Item): string;
}

/**
 * Runs items in batches of as many as are there. While fewer than `maxRunning` run, an item starts one at the end of the current turn of the event
 * loop, so that a single item waits for no timer.
 *
 * A batch takes one item of each group in turn until it is full. So if an item is the third one of its group when it comes, every other group gets
 * at most three turns before it. Groups that have no item in a running batch go first, in a batch of their own. So if one group has thousands of
 * items, the items of another group seldom wait for its batches, or in them.
 *
 * @param run never throws
 */
export function batchesByTurns<Item>(run: (batch: readonly Item[]) => Promise<void>, options: BatchOptions<Item>) {
  const { maxItems, maxBytes, maxRunning, maxApart = 0, bytesOf, groupOf } = options;
  /** The waiting items of each group, in the order of the groups' turns. */
  const waiting = new Map<string, Item[]>();
  const running = new Set<Promise<void>>();
  /** The number of running batches that have items of a group. */
  const runningOf = new Map<string, number>();
  let scheduled = false;

  function isAnyIdle(): boolean {
    for (const group of waiting.keys()) if (!runningOf.has(group)) return true;
    return false;
  }

  function mayStart(): boolean {
    if (waiting.size === 0) return false;
    return running.size < maxRunning || (running.size < maxRunning + maxApart && isAnyIdle());
  }

  function schedule(): void {
    if (scheduled || !mayStart()) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      // The waiting items may have been dropped meanwhile.
      if (mayStart()) start();
      schedule();
    });
  }

  function start(): void {
    const batch = take();
    const groups = new Set(batch.map(groupOf));
    for (const group of groups) runningOf.set(group, (runningOf.get(group) ?? 0) + 1);
    const done = run(batch).finally(() => {
      running.delete(done);
      for (const group of groups) {
        const left = (runningOf.get(group) as number) - 1;
        if (left > 0) runningOf.set(group, left);
        else runningOf.delete(group);
      }
      schedule();
    });
    running.add(done);
  }

  function take(): Item[] {
    const onlyIdle = isAnyIdle();
    const batch: Item[] = [];
    let bytes = 0;
    for (const [group, items] of waiting) {
      if (onlyIdle && runningOf.has(group)) continue;
      const [item] = items as [Item];
      bytes += bytesOf(item);
      if (batch.length === maxItems || (batch.length > 0 && bytes > maxBytes)) break;
      batch.push(item);
      items.shift();
      // The group goes behind the others; this loop reaches it again.
      waiting.delete(group);
      if (items.length > 0) waiting.set(group, items);
    }
    return batch;
  }

  return {
    add(item: Item): void {
      const group = groupOf(item);
      const items = waiting.get(group);
      if (items) items.push(item);
      else waiting.set(group, [item]);
      schedule();
    },
    /** Removes the waiting items, and returns them. */
    drop(): Item[] {
      const dropped = [...waiting.values()].flat();
      waiting.clear();
      return dropped;
    },
    /** Resolves once no batch runs. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/**
 * Bytes of messages in a batch. Only running batches are decoded to text, of which several copies exist on the way to PostgreSQL; and events of 256
 * KiB must not add up to a statement of a hundred megabytes.
 */
const MAX_BATCH_BYTES = 4 * 1024 ** 2;

/**
 * One batch at once. One more runs for organizations without a running one: beside a flood, whose statements are large, their events wait for none of
 * them.
 */
export const BATCHES_BY_ORGANIZATION = {
  maxRunning: 1,
  maxApart: 1,
  maxBytes: MAX_BATCH_BYTES,
  bytesOf: ({ message }: InboxMessage) => message.content.byteLength,
  groupOf: ({ organization }: InboxMessage) => organization,
};
