import { setTimeout as sleep } from "node:timers/promises";
import type { EndpointSlots } from "./endpoint-slots.ts";
import { SLOW_AFTER_MS } from "./scheduler.ts";
import type { SetAside } from "./set-aside.ts";
import type { ClaimedDelivery } from "./sql/claimed-delivery.ts";

export interface InterruptedOptions {
  slots: Pick<EndpointSlots, "takeBeyond" | "release" | "total">;
  aside: Pick<SetAside, "has">;
  /** Attempts in flight from which on a slow one delays the next. */
  maxInFlight: number;
  /** Claims the oldest interrupted delivery of an endpoint. */
  claim: (endpointId: string) => Promise<ClaimedDelivery | undefined>;
  /** Attempts a delivery and settles it; never rejects. */
  deliver: (delivery: ClaimedDelivery) => Promise<void>;
  onFailure: (error: unknown) => void;
}

/** Makes the interrupted deliveries of endpoints. */
export interface Interrupted {
  /** This endpoint has at least one. */
  add(endpointId: string): void;
  /** Claims nothing more; resolves when the deliveries that it claimed are settled. */
  stop(): Promise<void>;
}

/**
 * Deliveries whose attempt was cut off come back one at a time. They all come due together, one lease after their dispatcher
 * died; whichever of them was the cause must not find the others in flight again. One that is only slow does not hold the
 * others up, within the bound on everything in flight.
 */
export function createInterrupted(options: InterruptedOptions): Interrupted {
  const { slots, aside, maxInFlight, claim, deliver, onFailure } = options;
  // In their order of insertion: an endpoint that had its turn queues behind the others.
  const endpoints = new Set<string>();
  const deliveries = new Set<Promise<void>>();
  let working: Promise<void> | undefined;
  let stopped = false;

  async function work(): Promise<void> {
    for (const endpointId of endpoints) {
      endpoints.delete(endpointId);
      if (stopped || aside.has(endpointId)) continue;
      const delivery = await claim(endpointId);
      if (delivery === undefined) continue;
      endpoints.add(endpointId);
      await endOrSlow(attempt(delivery));
    }
  }

  function attempt(delivery: ClaimedDelivery): Promise<void> {
    slots.takeBeyond(delivery.endpointId);
    const done = deliver(delivery).finally(() => {
      slots.release(delivery.endpointId);
      deliveries.delete(done);
    });
    deliveries.add(done);
    return done;
  }

  async function endOrSlow(attempting: Promise<void>): Promise<void> {
    const ended = new AbortController();
    void attempting.then(() => ended.abort());
    do await sleep(SLOW_AFTER_MS, undefined, { signal: ended.signal }).catch(() => {});
    while (!ended.signal.aborted && slots.total() >= maxInFlight);
  }

  return {
    add(endpointId) {
      if (stopped) return;
      endpoints.add(endpointId);
      working ??= work()
        .catch(onFailure)
        .finally(() => {
          working = undefined;
        });
    },
    async stop() {
      stopped = true;
      await working;
      await Promise.all(deliveries);
    },
  };
}
