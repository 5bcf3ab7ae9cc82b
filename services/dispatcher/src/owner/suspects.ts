import type { Delivery } from "../sql/describe-deliveries.ts";
import type { OwnedEndpoint } from "./endpoint.ts";

interface Suspect {
  endpoint: OwnedEndpoint;
  delivery: Delivery;
}

/**
 * Deliveries that may be what ends their dispatchers: they were in flight at {@link SUSPECT_FROM} deaths. They are attempted one at a
 * time, so that the one that does it takes no others along.
 */
export interface Suspects {
  /** Whether the delivery has to wait for another one. */
  mustWait(delivery: Delivery): boolean;
  wait(suspect: Suspect): void;
  /** Its attempt begins. Returns what says that it did no harm: it is settled, or takes long. */
  begin(delivery: Delivery): () => void;
  /** Those of endpoints that are gone are forgotten. */
  dropGone(): void;
}

const SUSPECT_FROM = 2;

/**
 * @param giveBack puts the next one first in the line of its endpoint
 * @param forget one whose endpoint is gone
 */
export function createSuspects(giveBack: (suspect: Suspect) => void, forget: (delivery: Delivery) => void): Suspects {
  let waiting: Suspect[] = [];
  let inFlight = false;
  const isSuspect = ({ interruptions }: Delivery) => interruptions >= SUSPECT_FROM;

  function dropGone(): void {
    for (const { endpoint, delivery } of waiting) if (endpoint.isGone) forget(delivery);
    waiting = waiting.filter(({ endpoint }) => !endpoint.isGone);
  }

  return {
    mustWait: (delivery) => isSuspect(delivery) && inFlight,
    wait: (suspect) => void waiting.push(suspect),
    begin(delivery) {
      if (!isSuspect(delivery)) return () => {};
      inFlight = true;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        inFlight = false;
        dropGone();
        const next = waiting.shift();
        if (next) giveBack(next);
      };
    },
    dropGone,
  };
}
