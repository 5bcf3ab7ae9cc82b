import { SLOW_MS } from "./permits.ts";

/** Which endpoints are known to answer quickly. Kept beyond their work, and bounded: the one that was attempted longest ago is forgotten. */
export interface Latencies {
  isQuick(endpointId: string): boolean;
  /** An attempt has ended, or has taken so long already. */
  took(endpointId: string, milliseconds: number): void;
}

const MAX_ENDPOINTS = 20_000;

/** The weight of the latest attempt in the mean of all. */
const LATEST = 0.3;

export function createLatencies(): Latencies {
  const means = new Map<string, number>();
  return {
    isQuick: (endpointId) => (means.get(endpointId) ?? Number.POSITIVE_INFINITY) < SLOW_MS,
    took(endpointId, milliseconds) {
      const before = means.get(endpointId) ?? milliseconds;
      // In the order of the latest attempts.
      means.delete(endpointId);
      means.set(endpointId, before + (milliseconds - before) * LATEST);
      if (means.size > MAX_ENDPOINTS) means.delete(means.keys().next().value as string);
    },
  };
}
