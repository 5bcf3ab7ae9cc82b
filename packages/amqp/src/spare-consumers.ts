/** How far a queue has used its consumers since the last look. */
export interface QueueUse {
  /** How many messages the queue's own consumer may hold. */
  prefetch: number;
  /** The largest number of messages of the queue that were unsettled at once. */
  peak: number;
  /** How many spare consumers the queue has. */
  spares: number;
}

export interface ShareOptions {
  /** How many spare consumers all queues have together. */
  total: number;
  /** The queue that gets the first spare consumer where there are too few for all. */
  first: number;
  /** How many messages a spare consumer may hold. */
  sparePrefetch: number;
}

/** A queue that holds this part of what it may counts as full, since acknowledgements and new messages are on their way. */
const FULL = 0.75;

/**
 * Decides how many spare consumers each queue should have. A queue that was full gets as many as the others leave; a queue that was not
 * full keeps those that it used. Queues that want more get one each, in turn. A spare consumer that no queue wants stays where it is.
 */
export function shareOut(queues: readonly QueueUse[], { total, first, sparePrefetch }: ShareOptions): number[] {
  const wanted = queues.map(({ prefetch, peak, spares }) => {
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
