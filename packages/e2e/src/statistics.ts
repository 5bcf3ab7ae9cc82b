/** The value below which a share of the values lies (0 to 1); NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle value, or the mean of the middle two; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const above = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  if (sorted.length % 2 === 1) return above;
  return ((sorted[sorted.length / 2 - 1] ?? Number.NaN) + above) / 2;
}

/** How often each of these names occurs. */
export function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
