export interface PendingWindowOptions {
  /** How long an event waits for the results of its deliveries. */
  storedAfterMs: number;
  /** How much longer the oldest event waits, so that one statement stores more of them. */
  togetherMs: number;
  /** Pending events at once, about. */
  most: number;
}

/**
 * The pending window: events that were handed over before they are stored. Each waits, so that its owner stores the delivery first, with its result:
 * a delivery without a result by then costs a row more. If more events come than owners can attempt, more are handed over only when some are stored.
 *
 * @param goOn takes an event that has waited long enough
 */
export function createPendingWindow<Item>(
  goOn: (item: Item) => void,
  { most, storedAfterMs, togetherMs }: PendingWindowOptions,
) {
  /** In the order of their arrival. */
  const waiting: { item: Item; sinceMs: number }[] = [];
  /** Those that wait, and those that are being stored. */
  const pending = new Set<Item>();
  const wanting: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;

  function setTimer(): void {
    clearTimeout(timer);
    const [oldest] = waiting;
    if (oldest === undefined) return;
    timer = setTimeout(release, Math.max(0, oldest.sinceMs + storedAfterMs + togetherMs - performance.now()));
  }

  function release(): void {
    const now = performance.now();
    const young = waiting.findIndex(({ sinceMs }) => now - sinceMs < storedAfterMs);
    for (const { item } of waiting.splice(0, young === -1 ? waiting.length : Math.max(1, young))) goOn(item);
    setTimer();
  }

  return {
    add(item: Item): void {
      pending.add(item);
      waiting.push({ item, sinceMs: performance.now() });
      if (waiting.length === 1) setTimer();
    },
    /** The event is stored, or comes again. */
    over(item: Item): void {
      pending.delete(item);
      if (pending.size < most) for (const resolve of wanting.splice(0)) resolve();
    },
    /** Resolves when more may be handed over. */
    async room(): Promise<void> {
      if (pending.size >= most) await new Promise<void>((resolve) => wanting.push(resolve));
    },
    drop(): Item[] {
      const dropped = waiting.splice(0).map(({ item }) => item);
      setTimer();
      return dropped;
    },
  };
}
