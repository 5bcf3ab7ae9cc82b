import type { Deliver } from "./deliver.ts";
import type { EndpointSlots } from "./endpoint-slots.ts";
import type { SetAside } from "./set-aside.ts";
import type { ClaimedDelivery } from "./sql/claimed-delivery.ts";

/** Deliveries of an endpoint for which there are slots. */
export interface Demand {
  endpointId: string;
  count: number;
}

export interface SchedulerOptions {
  slots: EndpointSlots;
  aside: Pick<SetAside, "has">;
  /** Deliveries in flight or not settled yet, over all endpoints; slow attempts do not count. */
  concurrency: number;
  /** Deliveries in flight, slow ones and those of other sources included, from which on slow ones count as well. */
  maxInFlight: number;
  claim: (demands: readonly Demand[]) => Promise<readonly ClaimedDelivery[]>;
  /** Attempts a delivery and settles it; never rejects. */
  deliver: Deliver;
  onFailure: (error: unknown) => void;
}

/**
 * The endpoints that have, or may have, due deliveries in PostgreSQL. They take turns: whenever slots of an endpoint are
 * free, as many of its deliveries are claimed.
 */
export interface Scheduler {
  /** This endpoint may have due deliveries. */
  add(endpointId: string): void;
  /** Attempts this delivery at once, or returns false: there is no free slot, or others of its endpoint come first. */
  offer(delivery: ClaimedDelivery): boolean;
  /** A slot of this endpoint came free. */
  released(endpointId: string): void;
  /** Claims nothing more; resolves when the deliveries that it claimed are settled. */
  stop(): Promise<void>;
}

/** After this time an attempt counts as slow. A healthy receiver answers much earlier. */
const SLOW_AFTER_MS = 1_000;

/** Claims under way at once: while PostgreSQL answers one, the endpoints that became ready meanwhile need not wait. */
const MAX_CLAIMS = 2;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { slots, aside, concurrency, maxInFlight, claim, deliver, onFailure } = options;
  // Sets keep their order of insertion: the first of `ready` has waited longest.
  const waiting = new Set<string>();
  const ready = new Set<string>();
  const deliveries = new Set<Promise<void>>();
  const claims = new Set<Promise<void>>();
  /** Deliveries that count towards `concurrency`: wanted by a claim under way, attempted and not slow, or not settled yet. */
  let counting = 0;
  let scheduled = false;
  let stopped = false;

  function wake(): void {
    if (scheduled || stopped || ready.size === 0 || counting >= concurrency || claims.size >= MAX_CLAIMS) return;
    scheduled = true;
    // After this turn of the event loop, so that one claim serves all endpoints that are ready by then.
    setImmediate(() => {
      scheduled = false;
      if (stopped) return;
      const demands = takeSlots();
      if (demands.length === 0) return;
      const pulling = pull(demands)
        .catch(onFailure)
        .finally(() => {
          claims.delete(pulling);
          wake();
        });
      claims.add(pulling);
      wake();
    });
  }

  function takeSlots(): Demand[] {
    const demands: Demand[] = [];
    for (const endpointId of ready) {
      if (counting >= concurrency) break;
      ready.delete(endpointId);
      const count = aside.has(endpointId) ? 0 : slots.takeUpTo(endpointId, concurrency - counting);
      if (count === 0) continue;
      counting += count;
      waiting.delete(endpointId);
      demands.push({ endpointId, count });
    }
    return demands;
  }

  async function pull(demands: readonly Demand[]): Promise<void> {
    let claimed: readonly ClaimedDelivery[] = [];
    try {
      claimed = await claim(demands);
    } finally {
      // Where the claim failed, the next due scan finds these endpoints again.
      const counts = new Map<string, number>();
      for (const { endpointId } of claimed) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
      for (const { endpointId, count } of demands) {
        const got = counts.get(endpointId) ?? 0;
        counting -= count - got;
        slots.release(endpointId, count - got);
        // It got as many as it asked for, so it may have more. It queues behind the others.
        if (got === count) waiting.add(endpointId);
      }
      for (const delivery of claimed) start(delivery);
      for (const { endpointId } of demands) makeReady(endpointId);
    }
  }

  function start(delivery: ClaimedDelivery): void {
    let counts = true;
    let attempting = true;
    // Receivers that hang must not take the places of the others until they time out.
    const slow = setInterval(() => {
      if (slots.total() >= maxInFlight) return;
      clearInterval(slow);
      counts = false;
      counting--;
      wake();
    }, SLOW_AFTER_MS);

    /** The receiver is free for the next one. What is not settled yet counts, however slow it was, so that it stays bounded. */
    function end(): void {
      if (!attempting) return;
      attempting = false;
      clearInterval(slow);
      if (!counts) counting++;
      slots.release(delivery.endpointId);
      released(delivery.endpointId);
    }
    const done = deliver(delivery, end).finally(() => {
      deliveries.delete(done);
      end();
      counting--;
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
      if (aside.has(endpointId)) return;
      waiting.add(endpointId);
      // Whatever is free: its attempts under way may hang, and free no more for long.
      ready.add(endpointId);
      wake();
    },
    offer(delivery) {
      const { endpointId } = delivery;
      if (stopped || counting >= concurrency || waiting.has(endpointId) || aside.has(endpointId)) return false;
      if (slots.takeUpTo(endpointId, 1) === 0) return false;
      counting++;
      start(delivery);
      return true;
    },
    released,
    async stop() {
      stopped = true;
      await Promise.all(claims);
      await Promise.all(deliveries);
    },
  };
}
