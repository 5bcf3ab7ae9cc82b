import type { Rate } from "./rate.ts";

/**
 * How many attempts this process has in flight to each endpoint. The cap keeps one slow endpoint from taking the
 * capacity that the others need, and protects a receiver from more attempts than it can serve.
 */
export interface EndpointSlots {
  /** Takes up to `count` slots that are free; returns how many it took. */
  takeUpTo(endpointId: string, count: number): number;
  /** Gives back slots for which there was no delivery. */
  giveBack(endpointId: string, count: number): void;
  /** An attempt in a slot has ended. */
  release(endpointId: string): void;
  /** Takes one slot, free or not: for a delivery that must not wait for the endpoint's others. */
  takeBeyond(endpointId: string): void;
  releaseBeyond(endpointId: string): void;
  /** Whether half of the endpoint's slots is free: for fewer, another claim is not worth its statement. */
  isWorthClaiming(endpointId: string): boolean;
  /** Whether no endpoint has more slots than this says. Those that were taken beyond do not count. */
  isWithin(capOf: (endpointId: string) => number): boolean;
  /** Attempts in flight, over all endpoints. */
  total(): number;
}

/**
 * @param capOf how many attempts this process may have in flight to an endpoint now; 0 for none
 * @param rate how many it may begin in a second; without it, as many as there are slots
 */
export function endpointSlots(capOf: (endpointId: string) => number, rate?: Rate): EndpointSlots {
  // Holds only endpoints with attempts in flight, so it is as small as the work under way.
  const taken = new Map<string, { byRight: number; beyond: number }>();
  let total = 0;

  function freeOf(endpointId: string): number {
    const { byRight, beyond } = taken.get(endpointId) ?? { byRight: 0, beyond: 0 };
    return Math.max(0, capOf(endpointId) - byRight - beyond);
  }

  function add(endpointId: string, kind: "byRight" | "beyond", count: number): void {
    if (count === 0) return;
    const slots = taken.get(endpointId) ?? { byRight: 0, beyond: 0 };
    if (slots[kind] + count < 0) throw new Error(`${-count} slots are released, of which ${slots[kind]} were taken.`);
    total += count;
    slots[kind] += count;
    if (slots.byRight > 0 || slots.beyond > 0) taken.set(endpointId, slots);
    else taken.delete(endpointId);
  }

  return {
    takeUpTo(endpointId, count) {
      const free = Math.min(count, freeOf(endpointId));
      const got = rate === undefined ? free : rate.takeUpTo(endpointId, free);
      add(endpointId, "byRight", got);
      return got;
    },
    giveBack(endpointId, count) {
      add(endpointId, "byRight", -count);
      rate?.giveBack(endpointId, count);
    },
    release: (endpointId) => add(endpointId, "byRight", -1),
    takeBeyond(endpointId) {
      add(endpointId, "beyond", 1);
      rate?.takeBeyond(endpointId);
    },
    releaseBeyond: (endpointId) => add(endpointId, "beyond", -1),
    isWorthClaiming(endpointId) {
      const free = freeOf(endpointId);
      return free > 0 && free >= capOf(endpointId) / 2 && (rate?.hasToken(endpointId) ?? true);
    },
    isWithin(capOf) {
      for (const [endpointId, { byRight }] of taken) if (byRight > capOf(endpointId)) return false;
      return true;
    },
    total: () => total,
  };
}
