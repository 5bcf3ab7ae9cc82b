import { SLOW_MS } from "./permits.ts";

/** Which endpoints are known to answer quickly. Kept beyond their work, and bounded: the one that was attempted longest ago is forgotten. */
export interface Latencies {
  isQuick(endpointId: string): boolean;
  /** An attempt has ended. */
  took(endpointId: string, milliseconds: number): void;
}

const MAX_ENDPOINTS = 20_000;

/** The weight of the latest attempt in the mean of all. */
const LATEST = 0.3;

/**
 * An endpoint of this mean, or more, is slow. No attempt counts as longer than {@link SLOW_MS}: so one that was slow, perhaps since this
 * process itself was busy, is quick again after one quick attempt.
 */
const SLOW_MEAN_MS = 0.9 * SLOW_MS;

export function createLatencies(): Latencies {
  const means = new Map<string, number>();
  return {
    isQuick: (endpointId) => (means.get(endpointId) ?? Number.POSITIVE_INFINITY) < SLOW_MEAN_MS,
    took(endpointId, milliseconds) {
      const latest = Math.min(milliseconds, SLOW_MS);
      const before = means.get(endpointId) ?? latest;
      // In the order of the latest attempts.
      means.delete(endpointId);
      means.set(endpointId, before + (latest - before) * LATEST);
      if (means.size > MAX_ENDPOINTS) means.delete(means.keys().next().value as string);
    },
  };
}
