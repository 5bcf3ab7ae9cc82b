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
 * Deliveries that may crash their dispatchers: they were in flight at {@link SUSPECT_FROM} crashes. They are attempted one at a time, so that a
 * poisonous delivery can end only its own attempt. Others wait outside their endpoint's line, and the deliveries behind them go on.
 *
 * When one has ended, an endpoint that has room has the next turn. If none has room, or its turn comes to nothing, each endpoint finds by itself that
 * no suspect is in flight whenever it is looked at: by the next sweep at the latest.
 */
export function createSuspects({ hasRoom, offer }: Parts) {
  /** Endpoints with waiting suspects. The first has waited longest for a turn. */
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
    /** Whether the delivery has to wait for another suspect. */
    mustWait: (delivery: Delivery) => isSuspect(delivery) && inFlight,
    wait(endpoint: OwnedEndpoint, delivery: Delivery): void {
      endpoint.suspects.push(delivery);
      waiting.add(endpoint);
    },
    /** Whether the endpoint has a suspect that need not wait any more. */
    hasNext: ({ suspects }: OwnedEndpoint) => suspects.length > 0 && !inFlight,
    /** Removes that suspect. */
    next(endpoint: OwnedEndpoint): Delivery | undefined {
      const delivery = endpoint.suspects.shift();
      if (endpoint.suspects.length === 0) waiting.delete(endpoint);
      return delivery;
    },
    /** The attempt begins. Returns the function to call when it did no harm: it is settled, or takes long. */
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
    /** Forgets the suspects of an endpoint, and returns them. */
    drop(endpoint: OwnedEndpoint): Delivery[] {
      waiting.delete(endpoint);
      return endpoint.suspects.splice(0);
    },
  };
}
