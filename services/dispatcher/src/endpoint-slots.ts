/**
 * How many attempts this process has in flight to each endpoint. The cap keeps one slow endpoint from taking up what the
 * others need, and a receiver from more than it can serve.
 */
export interface EndpointSlots {
  /** Takes up to `count` slots that are free; returns how many it took. */
  takeUpTo(endpointId: string, count: number): number;
  /** Takes one slot, free or not: for a manual delivery, for which somebody waits. */
  takeBeyond(endpointId: string): void;
  release(endpointId: string, count?: number): void;
  free(endpointId: string): number;
}

export function endpointSlots(capPerEndpoint: number): EndpointSlots {
  // Holds only endpoints with attempts in flight, so it is as small as the work under way.
  const taken = new Map<string, number>();

  function free(endpointId: string): number {
    return Math.max(0, capPerEndpoint - (taken.get(endpointId) ?? 0));
  }

  function add(endpointId: string, count: number): void {
    const now = (taken.get(endpointId) ?? 0) + count;
    if (now > 0) taken.set(endpointId, now);
    else taken.delete(endpointId);
  }

  return {
    takeUpTo(endpointId, count) {
      const got = Math.min(count, free(endpointId));
      if (got > 0) add(endpointId, got);
      return got;
    },
    takeBeyond: (endpointId) => add(endpointId, 1),
    release: (endpointId, count = 1) => add(endpointId, -count),
    free,
  };
}
