import { median, quantile } from "@herald/e2e/statistics";

/** How much worse off the worst endpoint's organization is than the middle one: the one's 95th percentile to the other's. */
export function worstToMiddle({ delays, paths }: { delays: readonly number[]; paths: readonly string[] }): number {
  const byPath = new Map<string, number[]>();
  for (const [index, path] of paths.entries()) {
    const arrived = byPath.get(path) ?? [];
    arrived.push(delays[index] as number);
    byPath.set(path, arrived);
  }
  const each = [...byPath.values()].map((arrived) => quantile(arrived, 0.95));
  return Math.max(...each) / median(each);
}
