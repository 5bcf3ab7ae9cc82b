/** Items that wait for others, since nobody waits for them. */
export interface Gather<Item> {
  add(item: Item): void;
  /** Removes the waiting items, and returns them. */
  drop(): Item[];
}

export interface GatherOptions {
  /** When the oldest item has waited for this long, it goes on, */
  mostMs: number;
  /** and with it all that have waited for this long. */
  leastMs: number;
  /** Of more, the older half goes on. */
  maxItems: number;
}

/** @param goOn takes an item that has waited long enough */
export function createGather<Item>(
  goOn: (item: Item) => void,
  { mostMs, leastMs, maxItems }: GatherOptions,
): Gather<Item> {
  /** In the order of their arrival. */
  let waiting: { item: Item; sinceMs: number }[] = [];
  let timer: NodeJS.Timeout | undefined;

  function setTimer(): void {
    clearTimeout(timer);
    const [oldest] = waiting;
    timer = oldest && setTimeout(ripen, Math.max(0, oldest.sinceMs + mostMs - performance.now()));
  }

  function release(count: number): void {
    for (const { item } of waiting.splice(0, count)) goOn(item);
    setTimer();
  }

  function ripen(): void {
    const now = performance.now();
    const young = waiting.findIndex(({ sinceMs }) => now - sinceMs < leastMs);
    release(young === -1 ? waiting.length : Math.max(1, young));
  }

  return {
    add(item) {
      waiting.push({ item, sinceMs: performance.now() });
      if (waiting.length > maxItems) release(Math.ceil(maxItems / 2));
      else if (waiting.length === 1) setTimer();
    },
    drop() {
      const dropped = waiting.map(({ item }) => item);
      waiting = [];
      clearTimeout(timer);
      return dropped;
    },
  };
}
