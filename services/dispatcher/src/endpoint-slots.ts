/**
 * How many attempts this process has in flight to each endpoint. The cap keeps one slow endpoint from taking the
 * capacity that the others need, and protects a receiver from more attempts than it can serve.
 */
export interface EndpointSlots {
  /** Takes up to `count` slots that are free; returns how many it took. */
  takeUpTo(endpointId: string, count: number): number;
  /** Takes one slot, free or not: for a manual delivery, whose result an admin waits for. */
  takeBeyond(endpointId: string): void;
  release(endpointId: string, count?: number): void;
  /** Whether half of the endpoint's cap is free: for fewer slots, another claim is not worth its statement. */
  isWorthClaiming(endpointId: string): boolean;
  /** Attempts in flight, over all endpoints. */
  total(): number;
}

/** @param capOf how many attempts an endpoint may have in flight now */
export function endpointSlots(capOf: (endpointId: string) => number): EndpointSlots {
  // Holds only endpoints with attempts in flight, so it is as small as the work under way.
  const taken = new Map<string, number>();
  let total = 0;

  const freeOf = (endpointId: string) => Math.max(0, capOf(endpointId) - (taken.get(endpointId) ?? 0));

  function add(endpointId: string, count: number): void {
    const now = (taken.get(endpointId) ?? 0) + count;
    if (now > 0) taken.set(endpointId, now);
    else taken.delete(endpointId);
    total += count;
  }

  return {
    takeUpTo(endpointId, count) {
      const got = Math.min(count, freeOf(endpointId));
      if (got > 0) add(endpointId, got);
      return got;
    },
    takeBeyond: (endpointId) => add(endpointId, 1),
    release: (endpointId, count = 1) => add(endpointId, -count),
    isWorthClaiming: (endpointId) => freeOf(endpointId) >= Math.ceil(capOf(endpointId) / 2),
    total: () => total,
  };
}
