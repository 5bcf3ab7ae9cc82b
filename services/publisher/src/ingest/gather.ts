/** Items that wait for others, since nobody waits for them. */
export interface Gather<Item> {
  add(item: Item): void;
  /** Resolves when fewer than so many items wait, with whether that took a while. */
  below(count: number): Promise<boolean>;
  /** Removes the waiting items, and returns them. */
  drop(): Item[];
}

export interface GatherOptions {
  /** When the oldest item has waited for this long, it goes on, */
  mostMs: number;
  /** and with it all that have waited for this long. */
  leastMs: number;
}

/** @param goOn takes an item that has waited long enough */
export function createGather<Item>(goOn: (item: Item) => void, { mostMs, leastMs }: GatherOptions): Gather<Item> {
  /** In the order of their arrival. */
  const waiting: { item: Item; sinceMs: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** Wakes those who wait for room. */
  const wake: (() => void)[] = [];

  function setTimer(): void {
    clearTimeout(timer);
    const [oldest] = waiting;
    timer = oldest && setTimeout(ripen, Math.max(0, oldest.sinceMs + mostMs - performance.now()));
  }

  function removed(): void {
    for (const each of wake.splice(0)) each();
    setTimer();
  }

  function ripen(): void {
    const now = performance.now();
    const young = waiting.findIndex(({ sinceMs }) => now - sinceMs < leastMs);
    for (const { item } of waiting.splice(0, young === -1 ? waiting.length : Math.max(1, young))) goOn(item);
    removed();
  }

  return {
    add(item) {
      waiting.push({ item, sinceMs: performance.now() });
      if (waiting.length === 1) setTimer();
    },
    async below(count) {
      const isFull = waiting.length >= count;
      while (waiting.length >= count) await new Promise<void>((resolve) => wake.push(resolve));
      return isFull;
    },
    drop() {
      const dropped = waiting.splice(0).map(({ item }) => item);
      removed();
      return dropped;
    },
  };
}
