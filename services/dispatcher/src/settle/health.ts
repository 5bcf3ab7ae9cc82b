import { isDeepStrictEqual } from "node:util";
import type { FailureKind } from "@herald/contracts";
import type { BreakerOptions } from "../endpoint/breaker.ts";
import { afterFailure, endOf, type Failure, type FailureRun } from "../endpoint/failure-run.ts";
import type { Health, HealthStep, StoredRun } from "../sql/rows.ts";
import type { Settlement } from "../sql/settle.ts";

/** There is no second notice that an endpoint is failing within this time: a receiver that comes and goes would cause a flood of them. */
const FAILING_PERIOD_MS = 60 * 60_000;

/** Consecutive failures that have consequences. */
export interface Thresholds extends BreakerOptions {
  /** There is a notice of failing, and one of recovery; none if this is not less than `disableAfter`. */
  failingAfter: number;
}

/** The part of a settled attempt that matters for its endpoint's health. */
export type HealthResult = Failure &
  Pick<Settlement, "deliveryId" | "attempt" | "revision" | "succeeded" | "errorSummary">;

/** False if no attempt was made, or a name server or the egress proxy failed: that says nothing about the receiver. */
export function isEndpointsFailure(kind: FailureKind | null): boolean {
  return kind !== "interrupted" && kind !== "resolver_failed" && kind !== "proxy_failed";
}

/**
 * Applies results to an endpoint's health, in their order, up to the first one that needs a notice: a step has at most one, and always changes the
 * run with it, so the run shows whether the step was written.
 *
 * - A success ends the run of failures. A run that reaches a threshold has a notice, once (SPEC 3.1).
 * - There is no second notice of failing for an hour, by the times at which attempts ended: the same results cause the same notices whenever they
 *   are written.
 * - The end of a run that had a notice of failing has one too. The product does not know of another run.
 * - A failure that overlaps another does not count (failure-run.ts), nor one that is in the run already.
 * - A result from before an edit leaves the endpoint alone; so does any result while it is disabled.
 * - An endpoint that is still enabled was not disabled yet, whatever the length of its run: the setting may be new.
 */
export function nextHealth(
  health: Health,
  results: readonly HealthResult[],
  { pausesMs, failingAfter, disableAfter }: Thresholds,
): HealthStep {
  let attempts = health.failureRun;
  let run: Omit<FailureRun, "failures"> = health;
  let { failingTold, failingToldAt } = health;
  const step = (used: number, notice: HealthStep["notice"], noticeRun: readonly string[] = []): HealthStep => {
    const disabled = notice === "endpoint.disabled";
    const { failedAt, pausedUntil } = run;
    const noticed = { failingTold, failingToldAt };
    const after = { failureRun: attempts, failedAt, pausedUntil: disabled ? null : pausedUntil, ...noticed };
    return { used, changed: !isSame(after, health), ...after, disabled, notice, noticeRun };
  };
  for (const [index, result] of results.entries()) {
    if (!health.enabled || result.revision !== health.revision) continue;
    const attempt = `${result.deliveryId}/${result.attempt}`;
    if (result.succeeded) {
      const [ended, wasTold] = [attempts, failingTold];
      attempts = [];
      run = { failedAt: null, pausedUntil: null };
      failingTold = false;
      if (wasTold) return step(index + 1, "endpoint.recovered", ended);
    } else if (!attempts.includes(attempt)) {
      const after = afterFailure({ ...run, failures: attempts.length }, result, pausesMs);
      run = after;
      if (after.failures === attempts.length) continue;
      attempts = [...attempts, attempt];
      if (attempts.length >= disableAfter) {
        attempts = attempts.slice(0, disableAfter);
        return step(index + 1, "endpoint.disabled", attempts);
      }
      if (attempts.length !== failingAfter) continue;
      const endedAt = endOf(result);
      if (failingToldAt && endedAt.getTime() - failingToldAt.getTime() < FAILING_PERIOD_MS) continue;
      failingTold = true;
      failingToldAt = endedAt;
      return step(index + 1, "endpoint.failing", attempts);
    }
  }
  return step(results.length, null);
}

/** Whether `health` is the result of a step: then the step has been written. */
export function isWritten(step: HealthStep, before: Health, health: Health): boolean {
  return (
    isSame(step, health) &&
    health.revision === before.revision + BigInt(step.disabled) &&
    health.enabled !== step.disabled
  );
}

function isSame(one: StoredRun, other: StoredRun): boolean {
  const runOf = ({ failureRun, failedAt, pausedUntil, failingTold, failingToldAt }: StoredRun) =>
    [failureRun, failedAt, pausedUntil, failingTold, failingToldAt] as const;
  return isDeepStrictEqual(runOf(one), runOf(other));
}
