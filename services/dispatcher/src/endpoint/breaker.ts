import type { Clock } from "@herald/common/runtime/clock";
import type { StoredHealth } from "../sql/rows.ts";
import { afterFailure, endOf, type Failure, type FailureRun, HEALTHY } from "./failure-run.ts";
import { FARTHEST_PAUSE_MS } from "./retry-schedule.ts";

export type Breaker = ReturnType<typeof createBreaker>;

export interface BreakerOptions {
  /** The pause after the first failure that counts, after the second, ...; the last one is that of all others. */
  pausesMs: readonly number[];
  /** The endpoint is disabled then, with a notice (SPEC 3.1). */
  disableAfter: number;
}

/** A success earns a probe, a failed probe costs one. */
const MAX_PROBES = 5;

/** The first probe comes this soon after a failure, each further one after twice the time. */
const FIRST_PROBE_MS = 10;

/**
 * The circuit breaker of one endpoint, which its owner keeps: while the endpoint fails it gets one attempt at a time, with a pause after each failure.
 * A success lifts that at once. So a restart of a receiver does not make five failures.
 *
 * An endpoint that was resumed gets one attempt, and the rest of its backlog after a success.
 *
 * An endpoint that took its deliveries until now may get a few attempts during its pauses (half-open probes). They do not count as failures, and
 * without them an endpoint that refuses one delivery in ten would mostly rest.
 */
export function createBreaker(clock: Clock, { pausesMs, disableAfter }: BreakerOptions) {
  let isKnown = false;
  let run: FailureRun = HEALTHY;
  /** The endpoint was resumed, and no attempt has succeeded since. */
  let careful = false;
  /** Probes that are left, and when the next one may begin. */
  let probes = MAX_PROBES;
  let probeAtMs = 0;
  let probing = false;
  /** Stored failures alone do not set this: an endpoint may have as many and be enabled, if the setting was lowered. */
  let isOpenForGood = false;

  function take({ failures, pausedUntil }: StoredHealth): void {
    // The time of the failure itself is not known; its pause does not end before it.
    run = { failures, failedAt: pausedUntil, pausedUntil };
    probeAtMs = clock.now().getTime() + FIRST_PROBE_MS;
    // The owner before has already made the probes.
    probes = failures > 1 ? 0 : MAX_PROBES;
    probing = false;
    isOpenForGood = false;
    isKnown = true;
  }

  const leftMs = (untilMs: number) => {
    const ms = untilMs - clock.now().getTime();
    return ms > FARTHEST_PAUSE_MS ? 0 : Math.max(0, ms);
  };
  const pauseMs = () => leftMs(run.pausedUntil?.getTime() ?? 0);

  function waitMs(): number {
    const pause = pauseMs();
    return probes === 0 || probing ? pause : Math.min(pause, leftMs(probeAtMs));
  }

  return {
    /** How many attempts may be in flight now: none, one, or no limit of the breaker's. If the health is not known, one attempt finds it out. */
    limit(): number {
      if (!isKnown) return 1;
      if (run.failures === 0) return careful ? 1 : Number.POSITIVE_INFINITY;
      return isOpenForGood || waitMs() > 0 ? 0 : 1;
    },
    /** For how long nothing may begin, in milliseconds; 0 if an attempt may begin, or if only PostgreSQL can say so (`isOpenForGood`). */
    waitMs,
    begin(): void {
      if (run.failures > 0 && pauseMs() > 0) probing = true;
    },
    failed(failure: Failure): void {
      const before = run;
      run = afterFailure(before, failure, pausesMs);
      isOpenForGood = run.failures >= disableAfter;
      const counts = run.failures > before.failures;
      const isProbe = !counts && probing && failure.startedAt.getTime() >= probeAtMs;
      if (isProbe) probes--;
      if (isProbe || counts) probing = false;
      if (!counts && !isProbe && failure.retryAfterMs === null) return;
      const probeMs = FIRST_PROBE_MS * 2 ** (MAX_PROBES - probes);
      const asked = failure.retryAfterMs === null ? undefined : run.pausedUntil?.getTime();
      probeAtMs = asked ?? endOf(failure).getTime() + probeMs;
    },
    /** @returns whether that ends a run of failures */
    succeeded(): boolean {
      const wasFailing = run.failures > 0;
      run = HEALTHY;
      isOpenForGood = false;
      careful = false;
      probing = false;
      probes = Math.min(MAX_PROBES, probes + 1);
      return wasFailing;
    },
    isKnown: () => isKnown,
    /** It failed as often as disables it: nothing begins until PostgreSQL says that it is enabled. */
    isOpenForGood: () => isOpenForGood,
    isHealthy: () => isKnown && run.failures === 0 && !careful && probes === MAX_PROBES,
    /** Takes the health that PostgreSQL has, unless one is known. */
    know(stored: StoredHealth): void {
      if (!isKnown) take(stored);
    },
    /** Takes the health that PostgreSQL has, after a change of the endpoint. */
    reset(now: StoredHealth): void {
      careful = run.failures > 0 && now.failures === 0;
      take(now);
    },
  };
}
