import { FARTHEST_PAUSE_MS } from "./retry-schedule.ts";

export interface FailureRun {
  failures: number;
  /** When the last attempt that counts ended; null without one. */
  failedAt: Date | null;
  /** The end of the pause; null without a failure. Only manual attempts, and the few probes of the breaker (breaker.ts), begin before it. */
  pausedUntil: Date | null;
}

export interface Failure {
  startedAt: Date;
  durationMs: number;
  /** How long the receiver asks to be left alone; null if it does not. */
  retryAfterMs: number | null;
  /** An attempt of a manual delivery does not wait for a pause. */
  manual: boolean;
}

export const HEALTHY: FailureRun = { failures: 0, failedAt: null, pausedUntil: null };

/**
 * Adds one failure to a run. A failure counts if its attempt began after the last counted attempt had ended, so that five attempts at the same moment
 * are one failure. An attempt that began during a pause does not count: it is a probe, or its dispatcher did not know of the failure yet. A manual
 * attempt counts also then, since manual attempts do not wait for pauses.
 *
 * Also if the failure does not count, the receiver's `Retry-After` makes the pause longer. A pause that is too far ahead of the attempt's end is from
 * before PostgreSQL's clock was set back, as are the run's other times: they decide nothing.
 */
export function afterFailure(before: FailureRun, failure: Failure, pausesMs: readonly number[]): FailureRun {
  const endedAt = endOf(failure);
  const aheadMs = (before.pausedUntil?.getTime() ?? 0) - endedAt.getTime();
  const run = aheadMs > FARTHEST_PAUSE_MS ? { ...HEALTHY, failures: before.failures } : before;
  const wished = new Date(endedAt.getTime() + (failure.retryAfterMs ?? 0));
  if (!follows(run, failure)) {
    return failure.retryAfterMs === null ? run : { ...run, pausedUntil: later(run.pausedUntil, wished) };
  }
  const failures = run.failures + 1;
  const pauseMs = pausesMs[Math.min(failures, pausesMs.length) - 1] ?? 0;
  const pausedUntil = later(new Date(endedAt.getTime() + pauseMs), wished);
  return { failures, failedAt: endedAt, pausedUntil: later(run.pausedUntil, pausedUntil) };
}

function follows({ failedAt, pausedUntil }: FailureRun, { startedAt, manual }: Failure): boolean {
  if (failedAt !== null && startedAt <= failedAt) return false;
  return manual || pausedUntil === null || startedAt >= pausedUntil;
}

export function endOf({ startedAt, durationMs }: { startedAt: Date; durationMs: number }): Date {
  return new Date(startedAt.getTime() + durationMs);
}

const later = (one: Date | null, other: Date): Date => (one !== null && one > other ? one : other);
