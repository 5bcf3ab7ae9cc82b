import type { Delivery } from "../sql/describe-deliveries.ts";

/** An attempt of a delivery: the next one is another. */
type Attempt = Pick<Delivery, "deliveryId" | "attempts">;

/**
 * Which attempts this process has at hand, in flight, or has ended lately. The same attempt may come twice: handed over by a publisher and
 * read from PostgreSQL, by a statement that began before the attempt was settled, or by a message that came late. It is made once.
 */
export interface KnownDeliveries {
  has(attempt: Attempt): boolean;
  add(delivery: Attempt & Pick<Delivery, "arrived">): void;
  /** Its event is stored by now, and with it the delivery: if it is at hand or in flight, it is like any other from now on. */
  stored(attempt: Attempt): void;
  /** It was never attempted, or is to be attempted again: it may come once more. */
  forget(attempt: Attempt): void;
  /** It was settled. It is remembered for {@link REMEMBERED_MS} at least. */
  ended(attempt: Attempt): void;
}

/** Messages and statements take much less; and an event that is handed over when it arrives occurred in the last ten seconds. */
export const REMEMBERED_MS = 15_000;

export function createKnownDeliveries(nowMs: () => number): KnownDeliveries {
  const current = new Map<string, Pick<Delivery, "arrived">>();
  let ended = new Set<string>();
  let endedBefore = new Set<string>();
  let turnedAtMs = nowMs();
  const keyOf = ({ deliveryId, attempts }: Attempt) => `${deliveryId}/${attempts}`;

  function turn(): void {
    const now = nowMs();
    if (now - turnedAtMs < REMEMBERED_MS) return;
    turnedAtMs = now;
    endedBefore = ended;
    ended = new Set();
  }

  return {
    has(attempt) {
      turn();
      const key = keyOf(attempt);
      return current.has(key) || ended.has(key) || endedBefore.has(key);
    },
    add: (delivery) => void current.set(keyOf(delivery), delivery),
    stored(attempt) {
      const delivery = current.get(keyOf(attempt));
      if (delivery) delivery.arrived = undefined;
    },
    forget: (attempt) => void current.delete(keyOf(attempt)),
    ended(attempt) {
      const key = keyOf(attempt);
      current.delete(key);
      turn();
      ended.add(key);
    },
  };
}
