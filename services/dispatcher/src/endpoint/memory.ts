import { ARRIVAL } from "@herald/common/broker/arrival";
import type { Arrived, Delivery } from "../sql/describe-deliveries.ts";

/** An attempt of a delivery: the next one is another. */
type Attempt = { deliveryId: string; attempts: number };
type Held = Attempt & { arrived?: Arrived | undefined };

export type Memory = ReturnType<typeof createMemory>;

/**
 * The deliveries that this process has in memory or in flight, and the attempts that it has ended lately: the same attempt may be handed over, read
 * by a statement that began before it was settled, and come with a late message. It is made once. Small bodies are in memory with deliveries that
 * wait, and bounded together.
 */
export function createMemory(maxBytes: number, nowMs: () => number) {
  /** By the delivery's id, as are the numbers of the attempts that have ended. A delivery's earlier attempts have ended as well. */
  const current = new Map<string, Held>();
  let ended = new Map<string, number>();
  let endedBefore = new Map<string, number>();
  let turnedAtMs = nowMs();
  let bytes = 0;

  function forget({ deliveryId, attempts }: Attempt): void {
    if (current.get(deliveryId)?.attempts === attempts) current.delete(deliveryId);
  }

  function turn(): void {
    const now = nowMs();
    if (now - turnedAtMs < ARRIVAL.rememberedMs) return;
    turnedAtMs = now;
    endedBefore = ended;
    ended = new Map();
  }

  function has({ deliveryId, attempts }: Attempt): boolean {
    turn();
    const last = current.get(deliveryId)?.attempts ?? ended.get(deliveryId) ?? endedBefore.get(deliveryId);
    return last !== undefined && last >= attempts;
  }

  return {
    has,
    add: (delivery: Held) => void current.set(delivery.deliveryId, delivery),
    /** The event is stored now: its delivery, in memory or in flight, is ordinary from now on. Returns whether it is there, or has ended lately. */
    stored(attempt: Attempt): boolean {
      const delivery = current.get(attempt.deliveryId);
      if (delivery?.attempts === attempt.attempts) delivery.arrived = undefined;
      return has(attempt);
    },
    /** The attempt was not made, or must be made again: it may come once more. */
    forget,
    /** The attempt was settled. It is remembered for at least 15 s ({@link ARRIVAL}). */
    ended(attempt: Attempt): void {
      forget(attempt);
      turn();
      ended.set(attempt.deliveryId, attempt.attempts);
    },
    /** The delivery begins to wait, with its body if that is small. */
    hold(delivery: Delivery): void {
      bytes += sizeOf(delivery);
    },
    release(delivery: Delivery): void {
      bytes -= sizeOf(delivery);
    },
    hasRoomFor: (delivery: Delivery) => bytes + sizeOf(delivery) <= maxBytes,
    isFull: () => bytes >= maxBytes,
  };
}

const sizeOf = ({ body, bodyBytes }: Delivery) => (body === null ? 0 : bodyBytes);
