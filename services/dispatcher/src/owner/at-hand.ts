import type { Delivery } from "../sql/describe-deliveries.ts";
import type { OwnedEndpoint } from "./endpoint.ts";
import type { KnownDeliveries } from "./known-deliveries.ts";

/** Deliveries of an endpoint that are kept when they are handed over, at the most. */
export const MAX_READY = 500;

/**
 * The deliveries at hand, whose attempts have not begun, in the line of each endpoint. Their small bodies are in memory, and bounded
 * together.
 */
export function createAtHand(known: KnownDeliveries, maxBytes: number) {
  let bytes = 0;

  function put(endpoint: OwnedEndpoint, deliveries: readonly Delivery[], where: "first" | "last" = "last"): void {
    if (where === "first") endpoint.ready.unshift(...deliveries);
    else endpoint.ready.push(...deliveries);
    for (const delivery of deliveries) bytes += sizeOf(delivery);
  }

  return {
    put,
    /** Keeps a new delivery, if it is not known and there is room; `left` where PostgreSQL has to keep it. */
    keep(endpoint: OwnedEndpoint, delivery: Delivery): "kept" | "known" | "left" {
      if (known.has(delivery)) return "known";
      if (endpoint.ready.length >= MAX_READY || bytes + sizeOf(delivery) > maxBytes) return "left";
      known.add(delivery);
      put(endpoint, [delivery]);
      return "kept";
    },
    /** Removes the first one from the line. */
    take(endpoint: OwnedEndpoint): void {
      const delivery = endpoint.ready.shift();
      if (delivery) bytes -= sizeOf(delivery);
    },
    /** Forgets the whole line. */
    drop(endpoint: OwnedEndpoint): void {
      for (const delivery of endpoint.ready.splice(0)) {
        known.forget(delivery);
        bytes -= sizeOf(delivery);
      }
    },
    isFull: () => bytes >= maxBytes,
  };
}

function sizeOf({ body, bodyBytes }: Delivery): number {
  return body === null ? 0 : bodyBytes;
}
