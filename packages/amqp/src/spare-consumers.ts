/** How far a queue has used its consumers since the last look. */
export interface QueueUse {
  /** Messages that were unsettled at once, at the most. */
  peak: number;
  /** Spare consumers that it has. */
  spares: number;
}

export interface ShareOptions {
  /** Spare consumers of all queues together. */
  total: number;
  /** The queue to begin with, where there are too few for all. */
  first: number;
  /** Messages that a queue's own consumer may hold. */
  prefetch: number;
  /** Messages that a spare consumer may hold. */
  sparePrefetch: number;
}

/** From this part of what a queue may hold, it counts as full: what was settled is on its way to the broker, or back from it. */
const FULL = 0.75;

/**
 * Decides how many spare consumers each queue should have. A queue that was full gets as many as the others leave; one that was not
 * keeps what it used. Each queue that wants more gets one in turn. What nobody wants stays where it is.
 */
export function shareOut(
  queues: readonly QueueUse[],
  { total, first, prefetch, sparePrefetch }: ShareOptions,
): number[] {
  const wanted = queues.map(({ peak, spares }) => {
    const isFull = peak >= FULL * (prefetch + spares * sparePrefetch);
    return isFull ? total : Math.max(0, Math.ceil((peak - prefetch) / sparePrefetch));
  });
  const given = queues.map(() => 0);
  let left = total;
  const giveInTurn = (limits: readonly number[]) => {
    for (let gave = true; gave && left > 0; ) {
      gave = false;
      for (let turn = 0; turn < queues.length && left > 0; turn++) {
        const index = (first + turn) % queues.length;
        if ((given[index] as number) >= (limits[index] as number)) continue;
        given[index] = (given[index] as number) + 1;
        left--;
        gave = true;
      }
    }
  };
  giveInTurn(wanted);
  giveInTurn(queues.map(({ spares }) => spares));
  return given;
}
