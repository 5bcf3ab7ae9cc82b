import type { Deliver } from "../delivery/deliver.ts";
import type { ClaimedDelivery } from "../sql/claimed-delivery.ts";
import { type Lane, SLOW_AFTER_MS } from "./budget.ts";
import { createTurns, type Demand, type Endpoint, type TurnParts } from "./turns.ts";

export interface SchedulerOptions extends TurnParts {
  lane: Lane;
  /** Whether anything may be claimed now; `wake` is to be called when that changes. */
  mayClaim?: () => boolean;
  claim: (demands: readonly Demand[]) => Promise<readonly ClaimedDelivery[]>;
  /** Attempts a delivery and settles it; never rejects. */
  deliver: Deliver;
  /** A slot of this endpoint came free, or may have been given back by a claim; called before it is used again here. */
  onReleased?: (endpointId: string) => void;
  onFailure: (error: unknown) => void;
}

/**
 * The endpoints that have, or may have, due deliveries in PostgreSQL. They take turns (turns.ts): whenever slots of an endpoint are
 * free, as many of its deliveries are claimed.
 */
export interface Scheduler {
  /** This endpoint may have due deliveries. */
  add(endpoint: Endpoint): void;
  /** Attempts this delivery at once, or returns false: there is no free slot, or others of its endpoint come first. */
  offer(delivery: ClaimedDelivery): boolean;
  /** A slot of this endpoint came free, or its limit has grown. */
  released(endpointId: string): void;
  /** Something may be claimed that could not be claimed before. */
  wake(): void;
  /** Claims nothing more; resolves when the deliveries that it claimed are settled. */
  stop(): Promise<void>;
}

/** Claims under way at once: while PostgreSQL answers one, the endpoints that became ready meanwhile need not wait. */
const MAX_CLAIMS = 2;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { slots, lane, mayClaim = () => true, claim, deliver, onReleased, onFailure } = options;
  const turns = createTurns(options);
  const deliveries = new Set<Promise<void>>();
  const claims = new Set<Promise<void>>();
  let scheduled = false;
  let stopped = false;

  const isBlocked = () => stopped || lane.isFull() || !mayClaim();

  function wake(): void {
    if (scheduled || !turns.hasReady() || claims.size >= MAX_CLAIMS || isBlocked()) return;
    scheduled = true;
    // After this turn of the event loop, so that one claim serves all endpoints that are ready by then.
    setImmediate(() => {
      scheduled = false;
      if (isBlocked()) return;
      const demands = turns.take();
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

  async function pull(demands: readonly Demand[]): Promise<void> {
    let claimed: readonly ClaimedDelivery[] = [];
    try {
      claimed = await claim(demands);
    } finally {
      // Where the claim failed, the next due scan finds these endpoints again.
      turns.claimed(demands, claimed);
      for (const { endpointId } of demands) onReleased?.(endpointId);
      // By the demand: what was taken for an endpoint and its organization has to be given back for the same.
      const demandOf = new Map(demands.map((demand) => [demand.endpointId, demand]));
      for (const delivery of claimed) start(delivery, demandOf.get(delivery.endpointId));
    }
  }

  function start(delivery: ClaimedDelivery, { endpointId, organizationId }: Endpoint = delivery): void {
    const place = lane.begin(organizationId);
    // Receivers that hang must not take the places of the others until they time out.
    const slow = setTimeout(() => {
      place.slow();
      wake();
    }, SLOW_AFTER_MS);
    let attempting = true;

    /** The receiver is free for the next one. */
    function end(): void {
      if (!attempting) return;
      attempting = false;
      clearTimeout(slow);
      place.ended();
      slots.release(endpointId);
      onReleased?.(endpointId);
      released(endpointId);
    }
    const done = deliver(delivery, end).finally(() => {
      deliveries.delete(done);
      end();
      place.settled();
      wake();
    });
    deliveries.add(done);
  }

  function released(endpointId: string): void {
    turns.released(endpointId);
    wake();
  }

  return {
    add(endpoint) {
      turns.add(endpoint);
      wake();
    },
    offer(delivery) {
      if (stopped || !mayClaim() || !turns.takeOne(delivery)) return false;
      start(delivery);
      return true;
    },
    released,
    wake,
    async stop() {
      stopped = true;
      await Promise.all(claims);
      await Promise.all(deliveries);
    },
  };
}
