/**
 * How many attempts this process has in flight to each endpoint. The cap keeps one slow endpoint from taking the
 * capacity that the others need, and protects a receiver from more attempts than it can serve.
 *
 * A failure halves an endpoint's share of the cap, a success doubles it: a receiver that hangs soon holds one slot and
 * not ten, and one that has just recovered is asked once, then twice, before it gets its whole backlog.
 */
export interface EndpointSlots {
  /** Takes up to `count` slots that are free; returns how many it took. */
  takeUpTo(endpointId: string, count: number): number;
  /** Takes one slot, free or not: for a manual delivery, whose result an admin waits for. */
  takeBeyond(endpointId: string): void;
  release(endpointId: string, count?: number): void;
  /** An attempt to this endpoint ended, with success or not. */
  ended(endpointId: string, succeeded: boolean): void;
  /** Whether half of the endpoint's share is free: for fewer slots, another claim is not worth its statement. */
  isWorthClaiming(endpointId: string): boolean;
  /** Attempts in flight, over all endpoints. */
  total(): number;
}

/** Endpoints whose share is remembered. */
const MAX_SHARES = 10_000;

export function endpointSlots(capPerEndpoint: number): EndpointSlots {
  // Holds only endpoints with attempts in flight, so it is as small as the work under way.
  const taken = new Map<string, number>();
  // Holds only endpoints that failed and have not recovered since. An endpoint that is not here has the whole cap.
  const shares = new Map<string, number>();
  let total = 0;

  const shareOf = (endpointId: string) => shares.get(endpointId) ?? capPerEndpoint;
  const freeOf = (endpointId: string) => Math.max(0, shareOf(endpointId) - (taken.get(endpointId) ?? 0));

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
    ended(endpointId, succeeded) {
      if (succeeded && !shares.has(endpointId)) return;
      const share = shareOf(endpointId);
      const next = succeeded ? share * 2 : Math.max(1, Math.floor(share / 2));
      shares.delete(endpointId);
      if (next >= capPerEndpoint) return;
      shares.set(endpointId, next);
      // An endpoint that was disabled for its failures never recovers here. The one that failed longest ago is forgotten.
      if (shares.size > MAX_SHARES) shares.delete(shares.keys().next().value as string);
    },
    isWorthClaiming: (endpointId) => freeOf(endpointId) >= Math.ceil(shareOf(endpointId) / 2),
    total: () => total,
  };
}
