import type { Clock } from "@herald/common/runtime/clock";

/** Endpoints that this process leaves alone for a while, since a fault of Herald's own keeps it from sending to them. */
export interface SetAside {
  add(endpointId: string): void;
  has(endpointId: string): boolean;
}

/** For how long. Their deliveries stay due, and the next due scan after it hands them over again. */
export const SET_ASIDE_MS = 60_000;

export function createSetAside(clock: Clock): SetAside {
  const until = new Map<string, number>();
  return {
    add: (endpointId) => void until.set(endpointId, clock.monotonicMs() + SET_ASIDE_MS),
    has(endpointId) {
      const time = until.get(endpointId);
      if (time === undefined) return false;
      if (clock.monotonicMs() < time) return true;
      until.delete(endpointId);
      return false;
    },
  };
}
