import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { Tracing } from "@herald/common/telemetry/tracing";
import type { AttemptResult, Sender } from "../attempt/sender.ts";
import type { Outage } from "../outage/outage.ts";
import { endOf } from "../health/failure-run.ts";
import { isEndpointsFailure } from "../health/health.ts";
import type { Patience } from "../health/patience.ts";
import type { Quarantine } from "../lanes/quarantine.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import type { ClaimedDelivery, ReadyDelivery } from "../sql/claimed-delivery.ts";
import type { Settlement } from "../sql/settle.ts";
import { spanEndOf, startAttemptSpan } from "../tracing.ts";
import { CONFIGURATION_MS, type Reconfigure } from "./configurations.ts";
import type { SecretOpener } from "./opened-secrets.ts";
import type { RetrySchedule } from "./retry-schedule.ts";

/**
 * Makes one attempt of a claimed delivery, and has it settled. Never rejects: what can't be settled is due again later.
 *
 * @param onEnd called when the attempt is over, before it is settled
 */
export type Deliver = (delivery: ClaimedDelivery, onEnd?: () => void) => Promise<void>;

/** The same for a delivery whose body is there. */
export type DeliverReady = (delivery: ReadyDelivery, onEnd?: () => void) => Promise<void>;

interface Parts {
  sender: Sender;
  patience: Pick<Patience, "begin" | "failed" | "succeeded">;
  outage: Pick<Outage, "judge">;
  quarantine: Pick<Quarantine, "begin" | "end">;
  secrets: SecretOpener;
  schedule: RetrySchedule;
  reconfigure: Reconfigure;
  settle: (settlement: Settlement) => Promise<void>;
  /** Undoes a claim whose attempt could not begin: the delivery is due again after the delay. */
  unclaim: (delivery: ClaimedDelivery, delayMs: number) => Promise<void>;
  clock: Clock;
  /** What an attempt may take. */
  deadlineMs: number;
  metrics: DispatcherMetrics;
  tracing?: Tracing | undefined;
  log: Log;
}

/** When a delivery is due again whose attempt ended in Herald's own network. */
const OUTAGE_MS = 1_000;

/** So often a delivery's attempt may be cut off. The next time nothing is sent: it may be what ends its dispatchers. */
export const MAX_INTERRUPTIONS = 20;

export function createDeliver(parts: Parts): DeliverReady {
  const { sender, patience, outage, quarantine, secrets, schedule, reconfigure, settle, unclaim, clock, deadlineMs } =
    parts;
  const { metrics, tracing, log } = parts;
  // PostgreSQL's answer took long. If the lease ended during the attempt, another process could make the same attempt at the same time.
  const isTooLate = ({ leasedUntil }: ClaimedDelivery) => clock.now().getTime() + deadlineMs > leasedUntil.getTime();
  const isOutdated = ({ configuredAt }: ClaimedDelivery) =>
    clock.now().getTime() - configuredAt.getTime() > CONFIGURATION_MS;

  return async (claimed, onEnd) => {
    let delivery = claimed;
    try {
      while (isOutdated(delivery) && !isTooLate(delivery)) {
        const current = await reconfigure(delivery);
        if (current === undefined) return await unclaim(delivery, 0);
        delivery = current;
      }
      if (isTooLate(delivery)) return await unclaim(delivery, 0);
      if (delivery.interruptions >= MAX_INTERRUPTIONS) return await giveUp(delivery);
      // Claimed before the endpoint failed, or by a dispatcher that did not know of it.
      const waitMs = delivery.manual ? 0 : patience.begin(delivery.endpointId);
      if (waitMs > 0) return await unclaim(delivery, waitMs);
      const secret = openSecret(delivery);
      if (secret === undefined) {
        // The whole endpoint, since else its next delivery would be claimed at once, and the next, through its whole backlog.
        quarantine.begin(delivery.endpointId);
        // Due at once, for another dispatcher that may have the key.
        return await unclaim(delivery, 0);
      }
      const { deliveryId, eventType, url, body } = delivery;
      const span = tracing && startAttemptSpan(tracing, delivery);
      const traceparent = span?.traceparent ?? delivery.traceparent;
      const result = await sender.send({
        deliveryId,
        eventType,
        url,
        secret,
        body,
        traceparent: traceparent ?? undefined,
      });
      span?.end(spanEndOf(result));
      if ((await outage.judge(delivery, result)) === "ours") {
        onEnd?.();
        return await unclaim(delivery, OUTAGE_MS);
      }
      // Before the slot is free again, since what is next may have to wait.
      const settled = tellPatience(delivery, result);
      onEnd?.();
      await settle(settlementOf(delivery, result, span?.traceparent)).finally(settled);
      record(delivery, result);
    } catch (error) {
      log.error("an attempt could not be settled; its delivery comes due again when the lease ends", {
        deliveryId: delivery.deliveryId,
        endpointId: delivery.endpointId,
        attempt: delivery.attempt,
        error,
      });
    }
  };

  /** Ends a delivery for good, though no receiver failed it: so this does not count for the endpoint's health. */
  async function giveUp(delivery: ClaimedDelivery): Promise<void> {
    const result: AttemptResult = {
      startedAt: clock.now(),
      durationMs: 0,
      statusCode: 503,
      succeeded: false,
      errorSummary: `interrupted ${delivery.interruptions} times: the dispatcher ended before the result was recorded`,
      failureKind: "interrupted",
      responseExcerpt: null,
      retryAfterMs: null,
      reached: false,
    };
    await settle({ ...settlementOf(delivery, result), nextAttemptAt: null });
    record(delivery, result);
  }

  function tellPatience({ endpointId, manual = false }: ClaimedDelivery, result: AttemptResult): () => void {
    if (result.succeeded) return patience.succeeded(endpointId);
    return isEndpointsFailure(result.failureKind) ? patience.failed(endpointId, { ...result, manual }) : () => {};
  }

  /** A missing key is the operator's fault, so it does not count as a failure of the receiver. */
  function openSecret({ sealedSecret, endpointId, organizationId, quarantined }: ClaimedDelivery): string | undefined {
    try {
      const secret = secrets.open(sealedSecret, endpointId);
      if (quarantined) quarantine.end(endpointId);
      return secret;
    } catch (error) {
      log.error("an endpoint's signing secret can't be opened, so nothing is sent to it", {
        endpointId,
        organizationId,
        error,
      });
      return undefined;
    }
  }

  function settlementOf(
    delivery: ClaimedDelivery,
    result: AttemptResult,
    traceparent: string | null = null,
  ): Settlement {
    const { deliveryId, endpointId, attempt, claimId, revision, manual = false } = delivery;
    const { succeeded, retryAfterMs } = result;
    const nextAttemptAt = succeeded ? null : schedule.nextAttemptAt(attempt, endOf(result), retryAfterMs);
    return { deliveryId, endpointId, attempt, claimId, revision, manual, nextAttemptAt, traceparent, ...result };
  }

  /** One wide line an attempt. */
  function record(delivery: ClaimedDelivery, result: AttemptResult): void {
    const { succeeded, statusCode, errorSummary, failureKind, startedAt, durationMs } = result;
    metrics.attempts.inc({ outcome: succeeded ? "succeeded" : "failed" });
    metrics.attemptDuration.observe(durationMs / 1_000);
    if (delivery.attempt === 1) {
      metrics.firstAttemptDelay.observe((startedAt.getTime() - delivery.createdAt.getTime()) / 1_000);
    }
    // The history has each attempt, and the metrics count them: a tenant whose receiver is dead must not decide how much is logged.
    if (!log.isDebug) return;
    const { deliveryId, endpointId, organizationId, eventType, attempt, traceparent } = delivery;
    const fields = {
      deliveryId,
      endpointId,
      organizationId,
      eventType,
      attempt,
      statusCode,
      errorSummary,
      failureKind,
      durationMs,
      traceparent,
    };
    log.debug(succeeded ? "attempt succeeded" : "attempt failed", fields);
  }
}
