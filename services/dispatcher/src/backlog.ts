import type { EndpointSlots } from "./endpoint-slots.ts";
import type { ClaimedDelivery, EndpointDemand } from "./sql/claim.ts";

export interface BacklogOptions {
  slots: EndpointSlots;
  /** Deliveries of the backlog in flight at once, over all endpoints. */
  concurrency: number;
  claim: (demands: readonly EndpointDemand[]) => Promise<readonly ClaimedDelivery[]>;
  /** Attempts a delivery and settles it; never rejects. */
  deliver: (delivery: ClaimedDelivery) => Promise<void>;
  onFailure: (error: unknown) => void;
}

/**
 * The endpoints that have, or may have, more due deliveries in PostgreSQL than they have slots here. They take turns:
 * whenever slots of an endpoint come free, as many of its deliveries are claimed.
 */
export interface Backlog {
  /** This endpoint may have due deliveries. */
  add(endpointId: string): void;
  /** A slot of this endpoint came free. */
  released(endpointId: string): void;
  /** Endpoints that may have due deliveries. */
  size(): number;
  /** Claims nothing more; resolves when the deliveries that it claimed are settled. */
  stop(): Promise<void>;
}

export function createBacklog(options: BacklogOptions): Backlog {
  const { slots, concurrency, claim, deliver, onFailure } = options;
  // Sets keep their order of insertion: the first of `ready` has waited longest.
  const waiting = new Set<string>();
  const ready = new Set<string>();
  const deliveries = new Set<Promise<void>>();
  let pulling: Promise<void> | undefined;
  let stopped = false;

  function wake(): void {
    if (pulling || stopped || ready.size === 0 || deliveries.size >= concurrency) return;
    // After this turn of the event loop, so that one claim serves all endpoints that are ready by then.
    pulling = new Promise<void>((resolve) => setImmediate(resolve))
      .then(pull)
      .catch(onFailure)
      .finally(() => {
        pulling = undefined;
        wake();
      });
  }

  async function pull(): Promise<void> {
    if (stopped) return;
    const demands = takeSlots();
    if (demands.length === 0) return;
    let claimed: readonly ClaimedDelivery[];
    try {
      claimed = await claim(demands);
    } catch (error) {
      // The next due scan finds these endpoints again.
      for (const { endpointId, count } of demands) slots.release(endpointId, count);
      throw error;
    }
    const counts = new Map<string, number>();
    for (const { endpointId } of claimed) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
    for (const { endpointId, count } of demands) {
      const got = counts.get(endpointId) ?? 0;
      slots.release(endpointId, count - got);
      // It got as many as it asked for, so it may have more. It queues behind the others.
      if (got === count) waiting.add(endpointId);
    }
    for (const delivery of claimed) start(delivery);
    for (const { endpointId } of demands) makeReady(endpointId);
  }

  function takeSlots(): EndpointDemand[] {
    const demands: EndpointDemand[] = [];
    let left = concurrency - deliveries.size;
    for (const endpointId of ready) {
      if (left <= 0) break;
      ready.delete(endpointId);
      const count = slots.takeUpTo(endpointId, left);
      if (count === 0) continue;
      left -= count;
      waiting.delete(endpointId);
      demands.push({ endpointId, count });
    }
    return demands;
  }

  function start(delivery: ClaimedDelivery): void {
    const done = deliver(delivery).finally(() => {
      deliveries.delete(done);
      slots.release(delivery.endpointId);
      released(delivery.endpointId);
      wake();
    });
    deliveries.add(done);
  }

  function makeReady(endpointId: string): void {
    if (waiting.has(endpointId) && slots.isWorthClaiming(endpointId)) ready.add(endpointId);
  }

  function released(endpointId: string): void {
    makeReady(endpointId);
    wake();
  }

  return {
    add(endpointId) {
      waiting.add(endpointId);
      makeReady(endpointId);
      wake();
    },
    released,
    size: () => waiting.size,
    async stop() {
      stopped = true;
      await pulling;
      await Promise.all(deliveries);
    },
  };
}
