import { ARRIVAL } from "@herald/common/broker/arrival";
import type { Delivery } from "../sql/describe-deliveries.ts";

/** An attempt of a delivery: the next one is another. */
type Attempt = Pick<Delivery, "deliveryId" | "attempts">;

export type Memory = ReturnType<typeof createMemory>;

/**
 * The deliveries that this process has in memory or in flight, and the attempts that it has ended lately: the same attempt may be handed over, read
 * by a statement that began before it was settled, and come with a late message. It is made once. Small bodies are in memory with deliveries that
 * wait, and bounded together.
 *
 * @param nowMs a time that never goes back, in milliseconds
 */
export function createMemory(maxBytes: number, nowMs: () => number) {
  const current = new Map<string, Pick<Delivery, "arrived">>();
  let ended = new Set<string>();
  let endedBefore = new Set<string>();
  let turnedAtMs = nowMs();
  let bytes = 0;
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
    /** The delivery begins to wait, with its body if that is small. */
    hold(delivery: Delivery): void {
      bytes += sizeOf(delivery);
    },
    /** The delivery waits no more. */
    release(delivery: Delivery): void {
      bytes -= sizeOf(delivery);
    },
    hasRoomFor: (delivery: Delivery) => bytes + sizeOf(delivery) <= maxBytes,
    isFull: () => bytes >= maxBytes,
  };
}

const sizeOf = ({ body, bodyBytes }: Delivery) => (body === null ? 0 : bodyBytes);
