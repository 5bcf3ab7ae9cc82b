/**
 * Items that wait for others, since nobody waits for them. When the oldest has waited for `mostMs`, it goes on, and with it all that have waited
 * for `leastMs`.
 *
 * @param goOn takes an item that has waited long enough
 */
export function createGather<Item>(
  goOn: (item: Item) => void,
  { mostMs, leastMs }: { mostMs: number; leastMs: number },
) {
  /** In the order of their arrival. */
  const waiting: { item: Item; sinceMs: number }[] = [];
  let timer: NodeJS.Timeout | undefined;

  function setTimer(): void {
    clearTimeout(timer);
    const [oldest] = waiting;
    timer = oldest && setTimeout(ripen, Math.max(0, oldest.sinceMs + mostMs - performance.now()));
  }

  function ripen(): void {
    const now = performance.now();
    const young = waiting.findIndex(({ sinceMs }) => now - sinceMs < leastMs);
    for (const { item } of waiting.splice(0, young === -1 ? waiting.length : Math.max(1, young))) goOn(item);
    setTimer();
  }

  return {
    add(item: Item): void {
      waiting.push({ item, sinceMs: performance.now() });
      if (waiting.length === 1) setTimer();
    },
    /** Removes the waiting items, and returns them. */
    drop(): Item[] {
      const dropped = waiting.splice(0).map(({ item }) => item);
      setTimer();
      return dropped;
    },
  };
}
