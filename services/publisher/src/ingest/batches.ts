import type { Clock } from "@herald/common/runtime/clock";

export interface BatchOptions<Item> {
  /** How many items a batch may have. */
  maxItems: number;
  /** How many bytes a batch may have; a batch of one item may have more. */
  maxBytes: number;
  /** How many batches may run at once. */
  maxRunning: number;
  /** How many more batches may run for groups that have no running batch; none where absent. */
  maxApart?: number;
  /**
   * How many items of a batch one group may have while items of other groups come as well. A group that had this many then rests for
   * {@link REST} times as long as the batch took. Without limit where absent.
   */
  maxOfGroup?: number;
  bytesOf(item: Item): number;
  /** The group of an item. Groups take turns: a batch has items of each group, as long as it has room. */
  groupOf(item: Item): string;
  clock: Pick<Clock, "monotonicMs">;
}

/** Items that wait until their batch runs. */
export interface Batches<Item> {
  add(item: Item): void;
  /** Removes the waiting items, and returns them. */
  drop(): Item[];
  /** Resolves once no batch runs. */
  idle(): Promise<void>;
}

/** How many times as long as its batch a busy group rests. So it gets a third of the time, and other groups the rest. */
export const REST = 2;

/** The longest rest. A batch may take long only because PostgreSQL is away, so its time is no measure of its work. */
const MAX_REST_MS = 1_000;

/** How long after its last item a group still counts as active. */
const COMING_MS = 1_000;

/**
 * Runs items in batches, as many of them as are there. While fewer than `maxRunning` run, an item starts one at the end of the
 * current turn of the event loop, so that a single item waits for no timer.
 *
 * Groups that have no running batch go first, in a batch without the others. So while one group has thousands of items, the items of
 * another group wait neither for its batches nor in them.
 *
 * @param run never throws
 */
export function batchesByTurns<Item>(
  run: (batch: readonly Item[]) => Promise<void>,
  options: BatchOptions<Item>,
): Batches<Item> {
  const { maxItems, maxBytes, maxRunning, maxApart = 0, maxOfGroup = maxItems, bytesOf, groupOf, clock } = options;
  /** The waiting items of each group, in the order of the groups' turns. */
  const waiting = new Map<string, Item[]>();
  const running = new Set<Promise<void>>();
  /** How many running batches have items of each group. */
  const runningOf = new Map<string, number>();
  const resting = new Set<string>();
  /** When the last item of each group came. */
  const cameAtMs = new Map<string, number>();
  let scheduled = false;

  const isIdle = (group: string) => !runningOf.has(group) && !resting.has(group);

  function isAlone(group: string): boolean {
    const sinceMs = clock.monotonicMs() - COMING_MS;
    for (const [other, atMs] of cameAtMs) if (other !== group && atMs > sinceMs) return false;
    return true;
  }

  /** The groups of the next batch; empty where it has to wait. */
  function groupsOfNext(): Set<string> {
    const groups = [...waiting.keys()];
    const idle = groups.filter(isIdle);
    if (idle.length > 0) return new Set(running.size < maxRunning + maxApart ? idle : []);
    return new Set(running.size < maxRunning ? groups.filter((group) => !resting.has(group)) : []);
  }

  function schedule(): void {
    if (scheduled || groupsOfNext().size === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      const groups = groupsOfNext();
      // What waited may have been dropped meanwhile.
      if (groups.size > 0) start(groups);
      schedule();
    });
  }

  function start(groups: ReadonlySet<string>): void {
    const { batch, taken, full } = take(groups);
    const startedMs = clock.monotonicMs();
    for (const group of taken.keys()) runningOf.set(group, (runningOf.get(group) ?? 0) + 1);
    const done = run(batch).finally(() => {
      running.delete(done);
      for (const group of taken.keys()) {
        const left = (runningOf.get(group) ?? 0) - 1;
        if (left > 0) runningOf.set(group, left);
        else runningOf.delete(group);
      }
      for (const group of full) rest(group, REST * (clock.monotonicMs() - startedMs));
      schedule();
    });
    running.add(done);
  }

  /** A batch of these groups, and which of them had as much of it as they may while others come. */
  function take(groups: ReadonlySet<string>) {
    const batch: Item[] = [];
    const taken = new Map<string, number>();
    const full = new Set<string>();
    const limits = new Map([...groups].map((group) => [group, isAlone(group) ? maxItems : maxOfGroup]));
    let bytes = 0;
    for (const [group, items] of waiting) {
      const count = taken.get(group) ?? 0;
      if (full.has(group) || !groups.has(group)) continue;
      const [item] = items as [Item];
      bytes += bytesOf(item);
      if (batch.length === maxItems || (batch.length > 0 && bytes > maxBytes)) break;
      batch.push(item);
      taken.set(group, count + 1);
      if (count + 1 === limits.get(group) && count + 1 < maxItems) full.add(group);
      items.shift();
      // The group goes behind the others; this loop reaches it again.
      waiting.delete(group);
      if (items.length > 0) waiting.set(group, items);
    }
    return { batch, taken, full };
  }

  function rest(group: string, milliseconds: number): void {
    if (resting.has(group)) return;
    resting.add(group);
    const end = () => {
      resting.delete(group);
      schedule();
    };
    setTimeout(end, Math.min(milliseconds, MAX_REST_MS)).unref();
  }

  return {
    add(item) {
      const group = groupOf(item);
      cameAtMs.set(group, clock.monotonicMs());
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
