import type { Clock } from "@herald/common/runtime/clock";

export type Rate = ReturnType<typeof createRate>;

/** Limits the attempts a second to one endpoint: an attempt takes a token, and time brings new ones, up to those of a second, and at least one. */
export function createRate(clock: Pick<Clock, "monotonicMs">, perSecond: number) {
  const full = Math.max(1, perSecond);
  let tokens = full;
  let atMs = clock.monotonicMs();

  function refill(): void {
    const nowMs = clock.monotonicMs();
    tokens = Math.min(full, tokens + ((nowMs - atMs) / 1_000) * perSecond);
    atMs = nowMs;
  }

  return {
    /** For how long there is no token, in milliseconds; 0 if there is one. */
    waitMs(): number {
      refill();
      return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000);
    },
    /** Takes a token, which may not be there yet. */
    take(): void {
      refill();
      tokens--;
    },
  };
}
