import type { Clock } from "@herald/common/runtime/clock";

/** Limits the attempts a second to each endpoint, with a bucket of tokens for each: an attempt takes one, and time brings new ones. */
export interface Rate {
  /** Takes up to `count` tokens; returns how many. Where it is none, `onReady` is called when there is one. */
  takeUpTo(endpointId: string, count: number): number;
  /** Takes one that may not be there yet. */
  takeBeyond(endpointId: string): void;
  /** Tokens of attempts that were not made. */
  giveBack(endpointId: string, count: number): void;
  /** Whether there is a token; if not, `onReady` is called when there is one. */
  hasToken(endpointId: string): boolean;
  stop(): void;
}

export interface RateOptions {
  /** Tokens a second. */
  rateOf: (endpointId: string) => number;
  onReady: (endpointId: string) => void;
  clock: Clock;
}

/** A bucket holds the tokens of a second, and one at the least; none where the endpoint has no share in this process. */
const burstOf = (rate: number) => (rate > 0 ? Math.max(1, rate) : 0);

/** One timer serves the endpoints whose token comes within this time. */
const TIMER_STEP_MS = 10;

/** Above this, full buckets are forgotten: a bucket that is not known is full. */
const SWEEP_AT = 10_000;

export function createRate({ rateOf, onReady, clock }: RateOptions): Rate {
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  /** The endpoints that were refused, and when each has a token. */
  const waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let sweepAt = SWEEP_AT;

  function tokensOf(endpointId: string): number {
    const rate = rateOf(endpointId);
    const bucket = buckets.get(endpointId);
    if (bucket === undefined) return burstOf(rate);
    const seconds = (clock.monotonicMs() - bucket.atMs) / 1_000;
    return Math.min(burstOf(rate), bucket.tokens + seconds * rate);
  }

  function set(endpointId: string, tokens: number): void {
    if (buckets.size >= sweepAt) sweep();
    buckets.set(endpointId, { tokens, atMs: clock.monotonicMs() });
  }

  function sweep(): void {
    for (const endpointId of [...buckets.keys()]) {
      if (tokensOf(endpointId) >= burstOf(rateOf(endpointId))) buckets.delete(endpointId);
    }
    sweepAt = Math.max(SWEEP_AT, buckets.size * 2);
  }

  function wait(endpointId: string): void {
    const rate = rateOf(endpointId);
    // It has no share in this process. What changes that is not time.
    if (rate <= 0) return;
    waiting.set(endpointId, clock.monotonicMs() + ((1 - tokensOf(endpointId)) / rate) * 1_000);
    setTimer();
  }

  function setTimer(): void {
    if (timer !== undefined || waiting.size === 0) return;
    let earliest = Number.POSITIVE_INFINITY;
    for (const readyMs of waiting.values()) earliest = Math.min(earliest, readyMs);
    timer = setTimeout(handOver, Math.max(TIMER_STEP_MS, Math.ceil(earliest - clock.monotonicMs())));
  }

  function handOver(): void {
    timer = undefined;
    const nowMs = clock.monotonicMs();
    for (const [endpointId, readyMs] of [...waiting]) {
      if (readyMs > nowMs) continue;
      waiting.delete(endpointId);
      onReady(endpointId);
    }
    setTimer();
  }

  function hasToken(endpointId: string): boolean {
    if (tokensOf(endpointId) >= 1) return true;
    wait(endpointId);
    return false;
  }

  return {
    hasToken,
    takeUpTo(endpointId, count) {
      if (count === 0 || !hasToken(endpointId)) return 0;
      const tokens = tokensOf(endpointId);
      const taken = Math.min(count, Math.floor(tokens));
      set(endpointId, tokens - taken);
      return taken;
    },
    takeBeyond: (endpointId) => set(endpointId, tokensOf(endpointId) - 1),
    giveBack(endpointId, count) {
      if (count > 0) set(endpointId, tokensOf(endpointId) + count);
    },
    stop: () => clearTimeout(timer),
  };
}
