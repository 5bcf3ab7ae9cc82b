import type { Delivery } from "../sql/describe-deliveries.ts";

/** An attempt of a delivery: the next one is another. */
type Attempt = Pick<Delivery, "deliveryId" | "attempts">;

export type KnownDeliveries = ReturnType<typeof createKnownDeliveries>;

/** Messages and statements take much less; and an event that is handed over when it arrives occurred in the last ten seconds. */
export const REMEMBERED_MS = 15_000;

/**
 * Which attempts this process has at hand, in flight, or has ended lately. The same attempt may come twice: handed over by a publisher and
 * read from PostgreSQL, by a statement that began before the attempt was settled, or by a message that came late. It is made once.
 */
export function createKnownDeliveries(nowMs: () => number) {
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
    has(attempt: Attempt): boolean {
      turn();
      const key = keyOf(attempt);
      return current.has(key) || ended.has(key) || endedBefore.has(key);
    },
    add: (delivery: Attempt & Pick<Delivery, "arrived">) => void current.set(keyOf(delivery), delivery),
    /** Its event is stored by now, and with it the delivery: if it is at hand or in flight, it is like any other from now on. */
    stored(attempt: Attempt): void {
      const delivery = current.get(keyOf(attempt));
      if (delivery) delivery.arrived = undefined;
    },
    /** It was never attempted, or is to be attempted again: it may come once more. */
    forget: (attempt: Attempt) => void current.delete(keyOf(attempt)),
    /** It was settled. It is remembered for {@link REMEMBERED_MS} at least. */
    ended(attempt: Attempt): void {
      const key = keyOf(attempt);
      current.delete(key);
      turn();
      ended.add(key);
    },
  };
}
