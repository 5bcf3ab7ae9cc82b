import type { Clock } from "@herald/common/runtime/clock";
import type { StoredHealth } from "../sql/rows.ts";
import { type Breaker, type BreakerOptions, createBreaker } from "./breaker.ts";

export interface GateOptions {
  concurrency: number;
  /** Attempts a second to an endpoint; no limit if absent. */
  ratePerSecond: number | undefined;
  breaker: BreakerOptions;
}

/** PostgreSQL is asked this often whether an endpoint is disabled that failed as often as disables it. */
const LOOK_AGAIN_MS = 1_000;

/** The limits of one endpoint itself: its attempts at once and by the second, its pauses after failures, and its rests. */
export class Gate {
  readonly breaker: Breaker;
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #rate: ReturnType<typeof createRate> | undefined;
  /** Attempts that are not over, and the slow ones among them. */
  #inFlight = 0;
  #slowInFlight = 0;
  /** Results of attempts that wait for a locked row. Later ones would wait behind them. */
  #locked = 0;
  /** Nothing begins before this time of the process (`monotonicMs`). */
  #restUntilMs = Number.NEGATIVE_INFINITY;
  /** When a delivery last waited for the endpoint itself: it fails, or has as many attempts as it may. */
  #fullAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, options: GateOptions) {
    this.#clock = clock;
    this.#concurrency = options.concurrency;
    this.breaker = createBreaker(clock, options.breaker);
    this.#rate = options.ratePerSecond ? createRate(clock, options.ratePerSecond) : undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get isSlow(): boolean {
    return this.#slowInFlight > 0;
  }

  /** Whether an attempt is in flight that is quick so far: it ends soon, or becomes slow. */
  get endsSoon(): boolean {
    return this.#inFlight > this.#slowInFlight;
  }

  get limit(): number {
    return Math.min(this.#concurrency, this.breaker.limit());
  }

  get isResting(): boolean {
    return this.#restMs > 0 || this.#locked > 0;
  }

  /** Attempts that the endpoint's own limits leave. */
  room(reserved: number): number {
    if (this.isResting || this.#rateMs > 0) return 0;
    return Math.max(0, this.limit - this.#inFlight - reserved);
  }

  /** Notes that a delivery waits. Returns for how many milliseconds at least; undefined if it waits for the end of an attempt. */
  noteWait(): number | undefined {
    // An endpoint whose health is unknown is never full. Permits that are reserved to read rows are no attempts.
    const isFull = this.#rateMs > 0 || (this.breaker.isKnown() && this.limit <= this.#inFlight);
    if (isFull) this.#fullAtMs = this.#clock.now().getTime();
    const breakerMs = this.breaker.isOpenForGood() ? LOOK_AGAIN_MS : this.breaker.waitMs();
    const waits = [this.#restMs, this.#rateMs, breakerMs].filter((ms) => ms > 0);
    return waits.length > 0 ? Math.min(...waits) : undefined;
  }

  /** Whether a delivery that was made at this time waited for the endpoint itself since. */
  wasFullSince(at: Date): boolean {
    return at.getTime() <= this.#fullAtMs;
  }

  /** An attempt begins. Manual ones do not wait for pauses. */
  begin({ manual }: { manual: boolean }): void {
    if (!manual) this.breaker.begin();
    this.#rate?.take();
    this.#inFlight++;
  }

  /** An attempt takes longer than a healthy receiver. */
  slow(): void {
    this.#slowInFlight++;
  }

  /** The receiver is free for another attempt. */
  over({ wasSlow }: { wasSlow: boolean }): void {
    this.#inFlight--;
    if (wasSlow) this.#slowInFlight--;
  }

  /** Nothing begins until the result of an attempt is stored. */
  lock(): void {
    this.#locked++;
  }

  unlock(): void {
    this.#locked--;
  }

  rest(ms: number): void {
    this.#restUntilMs = Math.max(this.#restUntilMs, this.#clock.monotonicMs() + ms);
  }

  /** The endpoint was changed, and has this health now. */
  reset(health: StoredHealth): void {
    this.breaker.reset(health);
    this.#restUntilMs = Number.NEGATIVE_INFINITY;
  }

  get #restMs(): number {
    return this.#restUntilMs - this.#clock.monotonicMs();
  }

  get #rateMs(): number {
    return this.#rate?.waitMs() ?? 0;
  }
}

/** Limits the attempts a second to one endpoint: an attempt takes a token, and time brings new ones, up to those of a second, and at least one. */
export function createRate(clock: Clock, perSecond: number) {
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
