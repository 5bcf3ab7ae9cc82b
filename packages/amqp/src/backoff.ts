export interface Backoff {
  /** After the first failure. */
  firstMs: number;
  longestMs: number;
}

/**
 * How long to wait after so many failures in a row: twice as long each time, up to a limit, and give or take a fifth, so
 * that a hundred that failed together do not come back together.
 */
export function backoffMs(failures: number, { firstMs, longestMs }: Backoff, random = Math.random): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1)) * (0.8 + 0.4 * random());
}
