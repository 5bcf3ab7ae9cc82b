import type { Delivery } from "../sql/describe-deliveries.ts";
import type { OwnedEndpoint } from "./endpoint.ts";

interface Suspect {
  endpoint: OwnedEndpoint;
  delivery: Delivery;
}

const SUSPECT_FROM = 2;

/**
 * Deliveries that may be what ends their dispatchers: they were in flight at {@link SUSPECT_FROM} deaths. They are attempted one at a
 * time, so that the one that does it takes no others along.
 *
 * @param giveBack puts the next one first in the line of its endpoint
 * @param forget one whose endpoint is gone
 */
export function createSuspects(giveBack: (suspect: Suspect) => void, forget: (delivery: Delivery) => void) {
  let waiting: Suspect[] = [];
  let inFlight = false;
  const isSuspect = ({ interruptions }: Delivery) => interruptions >= SUSPECT_FROM;

  /** Those of endpoints that are gone are forgotten. */
  function dropGone(): void {
    for (const { endpoint, delivery } of waiting) if (endpoint.isGone) forget(delivery);
    waiting = waiting.filter(({ endpoint }) => !endpoint.isGone);
  }

  return {
    /** Whether the delivery has to wait for another one. */
    mustWait: (delivery: Delivery) => isSuspect(delivery) && inFlight,
    wait: (suspect: Suspect) => void waiting.push(suspect),
    /** Its attempt begins. Returns what says that it did no harm: it is settled, or takes long. */
    begin(delivery: Delivery): () => void {
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
