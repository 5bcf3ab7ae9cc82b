import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { Tracing } from "@herald/common/telemetry/tracing";
import { endOf } from "../admission/failure-run.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import type { Outage } from "../outage/outage.ts";
import type { RetrySchedule } from "../settle/retry-schedule.ts";
import type { Body, Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import type { Settlement } from "../sql/settle.ts";
import { spanEndOf, startAttemptSpan } from "../tracing.ts";
import type { OpenedSecrets } from "./opened-secrets.ts";
import type { AttemptResult, Sender } from "./sender.ts";

/** What one attempt goes by. */
export interface AttemptPlan {
  delivery: Delivery;
  body: Body;
  configuration: Configuration;
  /** In which this dispatcher owns the endpoint's shard. */
  epoch: number;
  /** Whether an admin waits for it. */
  manual: boolean;
  /** Whether it waited for its own receiver, or for its admin. */
  waitedForReceiver: boolean;
}

/** How it went. */
export type AttemptOutcome =
  | { kind: "ended"; result: AttemptResult; settlement: Settlement }
  /** Herald itself had an outage: it is nobody's attempt. */
  | { kind: "outage" }
  /** The signing secret does not open, so nothing was sent. */
  | { kind: "no secret"; error: unknown };

interface Parts {
  sender: Sender;
  outage: Pick<Outage, "judge">;
  secrets: Pick<OpenedSecrets, "open">;
  schedule: RetrySchedule;
  clock: Clock;
  metrics: Pick<DispatcherMetrics, "attempts" | "attemptDuration" | "firstAttemptDelay">;
  tracing?: Tracing | undefined;
  log: Log;
}

/** So often a delivery's attempt may be cut off. The next time nothing is sent: it may be what ends its dispatchers. */
export const MAX_INTERRUPTIONS = 20;

export interface Attempts {
  /** Makes one attempt, and says how it is to be settled. Never rejects. */
  attempt(plan: AttemptPlan): Promise<AttemptOutcome>;
  /** Counts an attempt that was settled, and logs it. */
  record(plan: AttemptPlan, result: AttemptResult): void;
}

export function createAttempts(parts: Parts): Attempts {
  const { sender, outage, secrets, schedule, clock, metrics, tracing, log } = parts;

  function settlementOf(
    { delivery, configuration, epoch, manual }: AttemptPlan,
    result: AttemptResult,
    traceparent: string | null = null,
  ): Settlement {
    const { deliveryId, endpointId, attempts, arrived, organizationId, eventKey, eventType, createdAt } = delivery;
    const { succeeded, failureKind, retryAfterMs } = result;
    const isGivenUp = failureKind === "interrupted";
    const attempt = attempts + 1;
    const nextAttemptAt = succeeded || isGivenUp ? null : schedule.nextAttemptAt(attempt, endOf(result), retryAfterMs);
    const { revision } = configuration;
    return {
      deliveryId,
      endpointId,
      epoch,
      attempt,
      revision,
      manual,
      nextAttemptAt,
      traceparent,
      ...result,
      unstored: arrived && eventKey !== null ? { createdAt, organizationId, eventKey, eventType } : undefined,
    };
  }

  /** Ends a delivery for good, though no receiver failed it: so this does not count for the endpoint's health. */
  function giveUp(plan: AttemptPlan): AttemptOutcome {
    const result: AttemptResult = {
      startedAt: clock.now(),
      durationMs: 0,
      statusCode: 503,
      succeeded: false,
      errorSummary: `interrupted ${plan.delivery.interruptions} times: the dispatcher ended before the result was recorded`,
      failureKind: "interrupted",
      responseExcerpt: null,
      retryAfterMs: null,
      reached: false,
    };
    return { kind: "ended", result, settlement: settlementOf(plan, result) };
  }

  return {
    async attempt(plan) {
      const { delivery, body, configuration } = plan;
      const { deliveryId, endpointId, organizationId, eventType, traceparent } = delivery;
      if (delivery.interruptions >= MAX_INTERRUPTIONS) return giveUp(plan);
      const { url, sealedSecret } = configuration;
      let secret: string;
      try {
        secret = secrets.open(sealedSecret, endpointId);
      } catch (error) {
        return { kind: "no secret", error };
      }
      const span = tracing && startAttemptSpan(tracing, delivery, url);
      // An event's own context is stored with it; of a manual delivery nobody else keeps it.
      const sentOnly = span?.traceparent ?? (delivery.eventKey === null ? traceparent : null);
      const continued = span?.traceparent ?? traceparent ?? undefined;
      const result = await sender.send({ deliveryId, eventType, url, secret, body, traceparent: continued }, clock);
      span?.end(spanEndOf(result));
      if ((await outage.judge({ endpointId, organizationId, url }, result)) === "ours") return { kind: "outage" };
      return { kind: "ended", result, settlement: settlementOf(plan, result, sentOnly) };
    },
    record({ delivery, waitedForReceiver }, result) {
      const { succeeded, statusCode, errorSummary, failureKind, startedAt, durationMs } = result;
      metrics.attempts.inc({ outcome: succeeded ? "succeeded" : "failed" });
      metrics.attemptDuration.observe(durationMs / 1_000);
      if (delivery.attempts === 0 && !waitedForReceiver) {
        metrics.firstAttemptDelay.observe((startedAt.getTime() - delivery.createdAt.getTime()) / 1_000);
      }
      // The history has each attempt, and the metrics count them: a tenant whose receiver is dead must not decide how much is logged.
      if (!log.isDebug) return;
      const { deliveryId, endpointId, organizationId, eventType, attempts, traceparent } = delivery;
      const fields = {
        deliveryId,
        endpointId,
        organizationId,
        eventType,
        attempt: attempts + 1,
        statusCode,
        errorSummary,
        failureKind,
        durationMs,
        traceparent,
      };
      log.debug(succeeded ? "attempt succeeded" : "attempt failed", fields);
    },
  };
}
