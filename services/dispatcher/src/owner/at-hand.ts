import { ARRIVAL } from "@herald/common/broker/arrival";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { OwnedEndpoint } from "./endpoint.ts";

/** New deliveries of an endpoint that are kept at most. */
const MAX_READY = 500;

/** The deliveries in memory whose attempts have not begun, in the line of each endpoint. Small bodies are in memory too, and bounded together. */
export function createAtHand(known: ReturnType<typeof createKnownDeliveries>, maxBytes: number) {
  let bytes = 0;

  function put(endpoint: OwnedEndpoint, deliveries: readonly Delivery[], where: "first" | "last" = "last"): void {
    if (where === "first") endpoint.ready.unshift(...deliveries);
    else endpoint.ready.push(...deliveries);
    for (const delivery of deliveries) bytes += sizeOf(delivery);
  }

  return {
    put,
    /** Keeps a new delivery, if it is not known and there is room; `left` if PostgreSQL has to keep it. */
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

/** An attempt of a delivery: the next one is another. */
type Attempt = Pick<Delivery, "deliveryId" | "attempts">;

/**
 * The attempts that this process has in memory, in flight, or has ended lately. The same attempt may come twice: handed over by a publisher and read
 * from PostgreSQL, by a statement that began before the attempt was settled, or by a late message. It is made once.
 */
export function createKnownDeliveries(nowMs: () => number) {
  const current = new Map<string, Pick<Delivery, "arrived">>();
  let ended = new Set<string>();
  let endedBefore = new Set<string>();
  let turnedAtMs = nowMs();
  const keyOf = ({ deliveryId, attempts }: Attempt) => `${deliveryId}/${attempts}`;

  function turn(): void {
    const now = nowMs();
    if (now - turnedAtMs < ARRIVAL.rememberedMs) return;
    turnedAtMs = now;
    endedBefore = ended;
    ended = new Set();
  }

  return {
    has(attempt: Attempt): boolean {
      turn();
      const key = keyOf(attempt);
      return current.has(key) || ended.has(key) || endedBefore.has(key);
    },
    add: (delivery: Attempt & Pick<Delivery, "arrived">) => void current.set(keyOf(delivery), delivery),
    /** The event is stored now, and with it the delivery: if it is in memory or in flight, it is an ordinary delivery from now on. */
    stored(attempt: Attempt): void {
      const delivery = current.get(keyOf(attempt));
      if (delivery) delivery.arrived = undefined;
    },
    /** The attempt was not made, or must be made again: it may come once more. */
    forget: (attempt: Attempt) => void current.delete(keyOf(attempt)),
    /** The attempt was settled. It is remembered for at least 15 s ({@link ARRIVAL}). */
    ended(attempt: Attempt): void {
      const key = keyOf(attempt);
      current.delete(key);
      turn();
      ended.add(key);
    },
  };
}
