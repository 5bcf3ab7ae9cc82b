import type { Clock } from "@herald/common/runtime/clock";
import type { Share } from "../members/endpoint-share.ts";
import { afterFailure, endOf, type Failure, type FailureRun, HEALTHY } from "./failure-run.ts";

/** An endpoint's health as PostgreSQL has it. */
export interface KnownHealth {
  endpointId: string;
  failures: number;
  pausedUntil: Date | null;
}

/**
 * Patience with receivers that fail: while an endpoint fails it gets one attempt at a time, over all dispatchers, with a pause
 * after each failure. A success lifts that at once. So a restart of a receiver does not make five failures. The attempt is that of the first
 * dispatcher in the endpoint's order; where it makes none, each of the others may.
 *
 * One that was resumed is asked once, and gets the rest of its backlog after a success.
 *
 * An endpoint that took its deliveries until now may have a few quick looks during its pauses. They do not count as failures,
 * and without them an endpoint that refuses one delivery in ten would mostly rest.
 */
export interface Patience {
  /** How many attempts to the endpoint this process may have in flight now. */
  limit(endpointId: string, share: Share): number;
  /** An attempt is about to begin. Returns for how long it has to wait, and then it does not begin; 0 where it need not. */
  begin(endpointId: string): number;
  /** Takes what a due scan or a claim has read of an endpoint that is enabled. */
  learn(known: KnownHealth): void;
  /**
   * Take the end of an attempt at once, before it is written down. The returned function is to be called when it has been
   * settled: until then, what PostgreSQL says of this endpoint is older than what is known here.
   */
  failed(endpointId: string, failure: Failure): () => void;
  succeeded(endpointId: string): () => void;
}

interface Parts {
  clock: Clock;
  /** An attempt may begin again to this endpoint. */
  onReady: (endpointId: string) => void;
  /** Whether settled results of this endpoint are not in its health yet. */
  isBeingWritten: (endpointId: string) => boolean;
}

export interface PatienceOptions {
  /** The pause after the first failure that counts, after the second, ...; the last one is that of all others. */
  patienceMs: readonly number[];
  disableAfter: number;
  /** What an attempt may take. */
  attemptMs: number;
}

/** An endpoint that fails, or has failed lately. */
interface Known {
  run: FailureRun;
  /** It failed as often as disables it: nothing begins until PostgreSQL says that it is enabled. */
  blocked: boolean;
  /** PostgreSQL says that it does not fail any more, and this process has not seen a success yet. */
  careful: boolean;
  /** Quick looks that it may still have. */
  looks: number;
  /** When the next one may begin. */
  lookAtMs: number;
  /** One is under way. */
  looking: boolean;
  /** Results that are not settled. */
  unsettled: number;
  /** When something was last heard of it, by the monotonic clock. */
  heardAtMs: number;
  timer?: NodeJS.Timeout;
}

/** Endpoints that are known. The one of which nothing was heard for longest is forgotten. */
const MAX_ENDPOINTS = 10_000;

/** After so long without news of an endpoint, what PostgreSQL says counts again. */
const STALE_AFTER_MS = 5_000;

/** So long after an attempt of the first dispatcher can have ended, another one takes its place. */
const FIRST_HAS_MS = 5_000;

/** For how long a delivery of an endpoint that is being disabled is given back. */
const BLOCKED_MS = 1_000;

/** A success earns a quick look, a look that fails costs one. */
const MAX_LOOKS = 5;

/** The first look comes so soon after a failure, each further one after twice the time. */
const FIRST_LOOK_MS = 10;

const isAfter = (one: Date | null, other: Date | null) => (one?.getTime() ?? 0) > (other?.getTime() ?? 0);

export function createPatience(
  { clock, onReady, isBeingWritten }: Parts,
  { patienceMs, disableAfter, attemptMs }: PatienceOptions,
): Patience {
  const endpoints = new Map<string, Known>();

  /** How much is left of the pause. */
  function pauseMs({ run }: Known): number {
    return Math.max(0, (run.pausedUntil?.getTime() ?? 0) - clock.now().getTime());
  }

  /** How long until the next attempt may begin: at the end of the pause, or for a quick look. */
  function waitMs(known: Known): number {
    const leftMs = pauseMs(known);
    if (known.looks === 0 || known.looking) return leftMs;
    return Math.min(leftMs, Math.max(0, known.lookAtMs - clock.now().getTime()));
  }

  /**
   * Whether the first dispatcher may still be at it: its time began with the end of the pause. It may have no place free, or lack the
   * endpoint's key.
   */
  function isLeftToFirst({ run }: Known): boolean {
    const passedMs = clock.now().getTime() - (run.pausedUntil?.getTime() ?? 0);
    return passedMs >= 0 && passedMs < attemptMs + FIRST_HAS_MS;
  }

  const isFresh = ({ heardAtMs }: Known) => clock.monotonicMs() - heardAtMs < STALE_AFTER_MS;

  function forget(endpointId: string): void {
    clearTimeout(endpoints.get(endpointId)?.timer);
    endpoints.delete(endpointId);
  }

  /** Something was heard of an endpoint. */
  function hear(endpointId: string, change: (known: Known) => void): Known {
    const known: Known = endpoints.get(endpointId) ?? {
      run: HEALTHY,
      blocked: false,
      careful: false,
      looks: MAX_LOOKS,
      lookAtMs: clock.now().getTime() + FIRST_LOOK_MS,
      looking: false,
      unsettled: 0,
      heardAtMs: 0,
    };
    forget(endpointId);
    change(known);
    known.heardAtMs = clock.monotonicMs();
    endpoints.set(endpointId, known);
    if (endpoints.size > MAX_ENDPOINTS) forget(endpoints.keys().next().value as string);
    wakeLater(endpointId, known);
    return known;
  }

  function wakeLater(endpointId: string, known: Known): void {
    clearTimeout(known.timer);
    const leftMs = waitMs(known);
    if (leftMs === 0 || known.blocked) return;
    // Once more if the timer was early, or the clock has stood still.
    known.timer = setTimeout(() => (waitMs(known) > 0 ? wakeLater(endpointId, known) : onReady(endpointId)), leftMs);
    known.timer.unref();
  }

  function untilSettled(endpointId: string, known: Known): () => void {
    known.unsettled++;
    return () => {
      known.unsettled--;
      const isHealthy =
        known.run.failures === 0 && !known.careful && known.looks === MAX_LOOKS && known.unsettled === 0;
      if (isHealthy && endpoints.get(endpointId) === known) forget(endpointId);
    };
  }

  return {
    limit(endpointId, share) {
      const known = endpoints.get(endpointId);
      if (!known) return share.count;
      if (known.run.failures === 0) return known.careful ? Math.min(1, share.count) : share.count;
      if (known.blocked || waitMs(known) > 0) return 0;
      const leaveIt = !share.first && (pauseMs(known) > 0 || isLeftToFirst(known));
      return leaveIt ? 0 : Math.min(1, share.count);
    },
    begin(endpointId) {
      const known = endpoints.get(endpointId);
      if (!known) return 0;
      if (known.blocked) return BLOCKED_MS;
      const leftMs = waitMs(known);
      if (leftMs > 0 || pauseMs(known) === 0) return leftMs;
      known.looking = true;
      wakeLater(endpointId, known);
      return 0;
    },
    learn({ endpointId, failures, pausedUntil }) {
      const before = endpoints.get(endpointId);
      if (before?.unsettled || isBeingWritten(endpointId) || (failures === 0 && !before)) return;
      // It was read before the last failure was written down. After a while it was not: the endpoint was resumed during that pause,
      // and has failed at another dispatcher since.
      if (before && failures > 0 && isAfter(before.run.pausedUntil, pausedUntil) && isFresh(before)) return;
      hear(endpointId, (known) => {
        // The time of the failure itself is not read. Its pause does not end before it.
        if (failures === 0 && known.run.failures > 0) known.careful = true;
        known.run = { failures, failedAt: pausedUntil, pausedUntil };
        known.blocked = false;
        // Another dispatcher has given it the benefit of the doubt.
        if (!before && failures > 1) known.looks = 0;
      });
    },
    failed(endpointId, failure) {
      const known = hear(endpointId, (known) => {
        const before = known.run;
        known.run = afterFailure(before, failure, patienceMs);
        known.blocked = known.run.failures >= disableAfter;
        const counts = known.run.failures > before.failures;
        const isLook = !counts && known.looking && failure.startedAt.getTime() >= known.lookAtMs;
        if (isLook) known.looks--;
        if (isLook || counts) known.looking = false;
        if (!counts && !isLook && failure.retryAfterMs === null) return;
        const lookMs = FIRST_LOOK_MS * 2 ** (MAX_LOOKS - known.looks);
        const asked = failure.retryAfterMs === null ? undefined : known.run.pausedUntil?.getTime();
        known.lookAtMs = asked ?? endOf(failure).getTime() + lookMs;
      });
      return untilSettled(endpointId, known);
    },
    succeeded(endpointId) {
      if (!endpoints.has(endpointId)) return () => {};
      const known = hear(endpointId, (known) => {
        known.run = HEALTHY;
        known.blocked = false;
        known.careful = false;
        known.looking = false;
        known.looks = Math.min(MAX_LOOKS, known.looks + 1);
      });
      return untilSettled(endpointId, known);
    },
  };
}
