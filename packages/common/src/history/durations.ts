/**
 * Up to how long attempts of each bucket take, in milliseconds. What takes longer than the last counts there. The stored counts are by
 * these bounds: another list would make them mean something else.
 */
export const DURATION_BOUNDS_MS = [50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000] as const;

/** The duration in whole milliseconds that a share of all attempts did not exceed, taken to be evenly spread within its bucket; null without any. */
export function percentileMs(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, many) => sum + many, 0);
  if (total === 0) return null;
  let left = share * total;
  let low = 0;
  for (const [bucket, high] of DURATION_BOUNDS_MS.entries()) {
    const many = counts[bucket] ?? 0;
    if (many > 0 && left <= many) return Math.round(low + ((high - low) * left) / many);
    left -= many;
    low = high;
  }
  return low;
}
