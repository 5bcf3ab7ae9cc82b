export interface PendingWindowOptions {
  /** How long an event waits for the results of its deliveries. */
  storedAfterMs: { least: number; most: number };
  /** How much longer the oldest event waits, so that one statement stores more of them. */
  togetherMs: number;
  /** Pending events at once, about. The window fills from half of this number on. */
  most: number;
}

/** If the window fills and more than 2 % have no result in time, events wait longer before they are stored. */
const LATE_SHARE = 0.02;
const LONGER = 1.1;
const SHORTER = 0.99;

/**
 * The pending window: events that were handed over before they are stored. Each waits, so that its owner stores the delivery first, with its result:
 * a delivery without a result by then costs a row more. If more events come than owners can attempt, owners get to them later and later. Then events
 * wait longer, and more are handed over only when some are stored. Each statement tells how long to wait, since it finds the results or does not.
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
  let waitMs = storedAfterMs.least;
  let timer: NodeJS.Timeout | undefined;

  const isFilling = () => pending.size > most / 2;

  function setTimer(): void {
    clearTimeout(timer);
    const [oldest] = waiting;
    if (oldest === undefined) return;
    const endMs = oldest.sinceMs + waitMs + (isFilling() ? togetherMs / 3 : togetherMs);
    timer = setTimeout(release, Math.max(0, endMs - performance.now()));
  }

  function release(): void {
    const now = performance.now();
    const young = waiting.findIndex(({ sinceMs }) => now - sinceMs < waitMs);
    for (const { item } of waiting.splice(0, young === -1 ? waiting.length : Math.max(1, young))) goOn(item);
    setTimer();
  }

  return {
    add(item: Item): void {
      pending.add(item);
      waiting.push({ item, sinceMs: performance.now() });
      if (waiting.length === 1) setTimer();
    },
    has: (item: Item) => pending.has(item),
    /** The event is stored, or comes again. */
    over(item: Item): void {
      pending.delete(item);
      if (pending.size < most) for (const resolve of wanting.splice(0)) resolve();
    },
    /** Resolves when more may be handed over. */
    async room(): Promise<void> {
      if (pending.size >= most) await new Promise<void>((resolve) => wanting.push(resolve));
    },
    /** A statement has stored `count` of them; `late` of these had no result. */
    stored({ count, late }: { count: number; late: number }): void {
      const isLate = isFilling() && late > count * LATE_SHARE;
      waitMs = isLate ? Math.min(storedAfterMs.most, waitMs * LONGER) : Math.max(storedAfterMs.least, waitMs * SHORTER);
    },
    /** Removes those that wait, and returns them. */
    drop(): Item[] {
      const dropped = waiting.splice(0).map(({ item }) => item);
      setTimer();
      return dropped;
    },
  };
}
