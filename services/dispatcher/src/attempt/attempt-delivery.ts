import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { SpanEnd, TraceSpan, Tracing } from "@herald/common/telemetry/tracing";
import { endOf } from "../admission/failure-run.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import type { Outage } from "../outage/outage.ts";
import type { RetrySchedule } from "../settle/retry-schedule.ts";
import type { Body, Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import type { Settlement } from "../sql/settle.ts";
import type { OpenedSecrets } from "./opened-secrets.ts";
import type { AttemptResult, Sender } from "./sender.ts";

/** The input of one attempt. */
export interface AttemptPlan {
  delivery: Delivery;
  body: Body;
  configuration: Configuration;
  /** The epoch in which this dispatcher owns the endpoint's shard. */
  epoch: number;
  /** Whether an admin waits for it. */
  manual: boolean;
  /** Whether it waited for its own receiver, or for its admin. */
  waitedForReceiver: boolean;
}

/** The outcome of one attempt. */
export type AttemptOutcome =
  | { kind: "ended"; result: AttemptResult; settlement: Settlement }
  /** Herald itself had an outage: the attempt counts for no receiver. */
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

/** After this many interrupted attempts nothing is sent any more: the delivery itself may be what crashes its dispatchers. */
export const MAX_INTERRUPTIONS = 20;

export type Attempts = ReturnType<typeof createAttempts>;

export function createAttempts(parts: Parts) {
  const { sender, outage, secrets, schedule, clock, metrics, tracing, log } = parts;

  function settlementOf(
    { delivery, configuration, epoch, manual }: AttemptPlan,
    result: AttemptResult,
    traceparent: string | null = null,
  ): Settlement {
    const { deliveryId, endpointId, attempts, arrived, organizationId, eventKey, eventType, createdAt } = delivery;
    const { reached: _, ownFault: __, ...ended } = result;
    const isOver = ended.succeeded || ended.failureKind === "interrupted";
    const attempt = attempts + 1;
    const nextAttemptAt = isOver ? null : schedule.nextAttemptAt(attempt, endOf(ended), ended.retryAfterMs);
    const unstored = arrived && eventKey !== null ? { createdAt, organizationId, eventKey, eventType } : undefined;
    const { revision } = configuration;
    const { handedOver } = delivery;
    const of = { deliveryId, endpointId, epoch, attempt, revision, manual, handedOver };
    return { ...ended, ...of, nextAttemptAt, traceparent, unstored };
  }

  /** Ends a delivery for good. No receiver failed it, so this does not count for the endpoint's health. */
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
    /** Makes one attempt, and says how to settle it. Never rejects. */
    async attempt(plan: AttemptPlan): Promise<AttemptOutcome> {
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
      // An event's own context is stored with the event; that of a manual delivery is stored here only.
      const sentOnly = span?.traceparent ?? (delivery.eventKey === null ? traceparent : null);
      const continued = span?.traceparent ?? traceparent ?? undefined;
      const result = await sender.send({ deliveryId, eventType, url, secret, body, traceparent: continued }, clock);
      span?.end(spanEndOf(result));
      if ((await outage.judge({ endpointId, organizationId, url }, result)) === "ours") return { kind: "outage" };
      return { kind: "ended", result, settlement: settlementOf(plan, result, sentOnly) };
    },
    /** Counts an attempt that was settled, and logs it. */
    record({ delivery, waitedForReceiver }: AttemptPlan, result: AttemptResult): void {
      const { succeeded, statusCode, errorSummary, failureKind, startedAt, durationMs } = result;
      metrics.attempts.inc({ outcome: succeeded ? "succeeded" : "failed" });
      metrics.attemptDuration.observe(durationMs / 1_000);
      if (delivery.attempts === 0 && !waitedForReceiver) {
        metrics.firstAttemptDelay.observe((startedAt.getTime() - delivery.createdAt.getTime()) / 1_000);
      }
      // The history has each attempt, and the metrics count them: a tenant whose receiver is dead must not decide how much is logged.
      if (!log.isDebug) return;
      const { deliveryId, endpointId, organizationId, eventType, attempts, traceparent } = delivery;
      const of = { deliveryId, endpointId, organizationId, eventType, attempt: attempts + 1, traceparent };
      const fields = { ...of, statusCode, errorSummary, failureKind, durationMs };
      log.debug(succeeded ? "attempt succeeded" : "attempt failed", fields);
    },
  };
}

function startAttemptSpan(tracing: Tracing, delivery: Delivery, url: string): TraceSpan {
  const { deliveryId, endpointId, organizationId, eventType, attempts, traceparent } = delivery;
  return tracing.startSpan("POST", {
    kind: "client",
    // The first attempt is a part of the event's trace. A retry, minutes or days later, begins a trace of its own that links to it, because tracing
    // systems close a trace much earlier.
    ...(attempts === 0 ? { parent: traceparent } : { link: traceparent }),
    attributes: {
      "http.request.method": "POST",
      ...serverOf(url),
      ...(attempts > 0 && { "http.request.resend_count": attempts }),
      "herald.delivery.id": deliveryId,
      "herald.endpoint.id": endpointId,
      "herald.organization.id": organizationId,
      "herald.event.type": eventType,
    },
  });
}

function spanEndOf({ statusCode, errorSummary, failureKind }: AttemptResult): SpanEnd {
  const answered = { attributes: { "http.response.status_code": statusCode } };
  if (failureKind === null) return answered;
  if (failureKind === "http_status") return { ...answered, errorType: String(statusCode) };
  return { errorType: failureKind, error: errorSummary ?? undefined };
}

/** Not `url.full`, which the conventions ask for: a receiver's path may hold a secret. */
function serverOf(text: string) {
  const url = URL.parse(text);
  if (url === null) return {};
  return {
    "url.scheme": url.protocol.slice(0, -1),
    "server.address": url.hostname.replace(/^\[|\]$/g, ""),
    "server.port": url.port === "" ? 443 : Number(url.port),
  };
}
