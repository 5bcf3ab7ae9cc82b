import { SLOW_MS, type Speed } from "./permits.ts";

const MAX_ENDPOINTS = 20_000;

/** The weight of the latest attempt in the mean. */
const LATEST = 0.3;

/** An endpoint with this mean is slow. No attempt counts as longer than {@link SLOW_MS}, so after one quick attempt the endpoint is quick again. */
const SLOW_MEAN_MS = 0.9 * SLOW_MS;

/** Attempts that end within this time count once: if this process itself was busy for a second, they say no more than that. */
const MOMENT_MS = 100;

/** An endpoint that answered longer ago is not known to answer now. When a crowd begins, this process itself may be busy for two or three seconds. */
const ANSWERING_MS = 5_000;

/** How soon endpoints answer. Kept beyond their work, and bounded: the endpoint with the oldest attempt is forgotten. */
export function createLatencies() {
  const known = new Map<string, { meanMs: number; atMs: number }>();
  return {
    speedOf(endpointId: string): Speed {
      const { meanMs, atMs } = known.get(endpointId) ?? { meanMs: Number.POSITIVE_INFINITY, atMs: 0 };
      if (meanMs >= SLOW_MEAN_MS) return "slow";
      return performance.now() - atMs < ANSWERING_MS ? "answering" : "quick";
    },
    took(endpointId: string, milliseconds: number): void {
      const atMs = performance.now();
      const latest = Math.min(milliseconds, SLOW_MS);
      const before = known.get(endpointId);
      if (before && atMs - before.atMs < MOMENT_MS) return;
      // In the order of the latest attempts.
      known.delete(endpointId);
      const meanMs = before ? before.meanMs + (latest - before.meanMs) * LATEST : latest;
      known.set(endpointId, { meanMs, atMs });
      if (known.size > MAX_ENDPOINTS) known.delete(known.keys().next().value as string);
    },
  };
}
