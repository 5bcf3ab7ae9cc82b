import type { Delivery } from "../sql/describe-deliveries.ts";
import type { OwnedEndpoint } from "./endpoint.ts";

const SUSPECT_FROM = 2;

interface Parts {
  /** Whether an endpoint could begin an attempt now. */
  hasRoom: (endpoint: OwnedEndpoint) => boolean;
  /** Lets an endpoint wait for its turn. */
  offer: (endpoint: OwnedEndpoint) => void;
}

/**
 * Deliveries that may be what ends their dispatchers: they were in flight at {@link SUSPECT_FROM} deaths. They are attempted one at a
 * time, so that the one that does it takes no others along. Until then each waits besides its endpoint's line, and those behind it go on.
 *
 * Where one has ended, an endpoint that has room has the next turn. Where none has, or that one comes to nothing, each endpoint finds
 * by itself that nobody's suspect is in flight, whenever it is looked at: by the next sweep at the latest.
 */
export function createSuspects({ hasRoom, offer }: Parts) {
  /** Endpoints with suspects that wait. The first has waited longest for a turn. */
  const waiting = new Set<OwnedEndpoint>();
  let inFlight = false;
  const isSuspect = ({ interruptions }: Delivery) => interruptions >= SUSPECT_FROM;

  function giveTurn(): void {
    for (const endpoint of waiting) {
      if (!hasRoom(endpoint)) continue;
      waiting.delete(endpoint);
      waiting.add(endpoint);
      offer(endpoint);
      return;
    }
  }

  return {
    /** Whether the delivery has to wait for another one. */
    mustWait: (delivery: Delivery) => isSuspect(delivery) && inFlight,
    wait(endpoint: OwnedEndpoint, delivery: Delivery): void {
      endpoint.suspects.push(delivery);
      waiting.add(endpoint);
    },
    /** Whether the endpoint has one that need not wait any more. */
    hasNext: ({ suspects }: OwnedEndpoint) => suspects.length > 0 && !inFlight,
    /** Removes that one. */
    next(endpoint: OwnedEndpoint): Delivery | undefined {
      const delivery = endpoint.suspects.shift();
      if (endpoint.suspects.length === 0) waiting.delete(endpoint);
      return delivery;
    },
    /** Its attempt begins. Returns what says that it did no harm: it is settled, or takes long. */
    begin(delivery: Delivery): () => void {
      if (!isSuspect(delivery)) return () => {};
      inFlight = true;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        inFlight = false;
        giveTurn();
      };
    },
    /** Forgets those of an endpoint, and returns them. */
    drop(endpoint: OwnedEndpoint): Delivery[] {
      waiting.delete(endpoint);
      return endpoint.suspects.splice(0);
    },
  };
}
