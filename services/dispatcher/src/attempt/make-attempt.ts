import { ARRIVAL } from "@herald/common/broker/arrival";
import { headerContext } from "@herald/common/security/secret-box";
import type { Tracing } from "@herald/common/telemetry/tracing";
import type { Basics } from "../basics.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { endOf } from "../endpoint/failure-run.ts";
import type { RetrySchedule } from "../endpoint/retry-schedule.ts";
import type { Sender } from "../http/sender.ts";
import type { Outage } from "../outage/outage.ts";
import { isEndpointsFailure } from "../settle/health.ts";
import type { Quarantine } from "../settle/quarantine.ts";
import type { SettleQueue } from "../settle/settle-queue.ts";
import type { Shards } from "../shards/shards.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import type { AttemptResult } from "../sql/rows.ts";
import type { Settlement } from "../sql/settle.ts";
import type { FailureLog } from "./failure-log.ts";
import type { OpenedSecrets } from "./opened-secrets.ts";
import { spanEndOf, startAttemptSpan } from "./span.ts";

export interface Attempt {
  endpoint: Endpoint;
  delivery: Delivery;
  /** Whether an admin waits for it. */
  manual: boolean;
  /** Whether it waited for its own receiver, or for its admin: its delay says nothing about Herald. */
  keptWaiting: boolean;
  /** Returns the configuration that the endpoint had at most half a second ago (SPEC 2.3); undefined if it is disabled or deleted. */
  configuration(): Promise<Configuration | undefined> | Configuration;
  /** The receiver is free for the next attempt. Must be called before the result is settled. */
  over(durationMs?: number): void;
  /** The result waits for a locked row. */
  locked(): void;
}

/** A result, and the trace context to be stored with it. */
type Sent = { result: AttemptResult; traceparent: string | null };

/** The endpoint's secret and own headers, in plain. */
type Opened = { secret: string; ownHeaders: readonly string[] };

/** How an attempt went that had begun. */
export type Outcome =
  /** The result is stored, or PostgreSQL knows a later one: `nextAttemptAt` if there is a retry. */
  | { kind: "settled"; nextAttemptAt: Date | null }
  /** Nothing was sent, or nothing that counts: it has to be made again. If the endpoint is gone by then, the delivery is forgotten. */
  | { kind: "put back"; restMs: number }
  /** PostgreSQL decides after this time: the delivery's event may not be stored yet, or the result can't be stored. */
  | { kind: "left"; forMs: number }
  /** Nothing was sent: the endpoint is disabled or deleted. */
  | { kind: "gone" };

/** Makes an attempt, and settles it. Never rejects. */
export type MakeAttempt = (attempt: Attempt) => Promise<Outcome>;

interface Parts extends Basics {
  /** The body of a delivery whose body is large; undefined if it is gone, or the delivery has ended. */
  readBody: (delivery: Delivery) => Promise<Buffer | undefined>;
  shards: Shards;
  secrets: OpenedSecrets;
  quarantine: Quarantine;
  sender: Sender;
  outage: Outage;
  schedule: RetrySchedule;
  settlements: SettleQueue;
  failures: FailureLog;
  tracing?: Tracing | undefined;
}

/** After this many interrupted attempts nothing is sent any more: the delivery itself may be what crashes its dispatchers. */
export const MAX_INTERRUPTIONS = 20;

/** The pause before a delivery is attempted again whose attempt could not be written down. */
const UNSETTLED_MS = 60_000;
/** The pause before an endpoint's next attempt if the last one ended in Herald's own network. */
const OUTAGE_MS = 1_000;
/** The pause before an endpoint's next attempt if a clock of Herald's may be why the last one failed: it may be wrong for hours. */
const CLOCK_MS = 60_000;
/** The pause before an endpoint's next attempt if its secret or an own header can't be opened: else each delivery of its backlog would be tried. */
const QUARANTINE_MS = 60_000;

export function createMakeAttempt(parts: Parts): MakeAttempt {
  const { readBody, shards, secrets, quarantine, sender, outage, schedule } = parts;
  const { settlements, failures, clock, metrics, tracing, log } = parts;

  async function makeAttempt(attempt: Attempt): Promise<Outcome> {
    const { endpoint, delivery, manual, over } = attempt;
    const { breaker } = endpoint.gate;
    const { deliveryId, arrived } = delivery;
    const { id: endpointId, organizationId } = endpoint;
    const wasHealthKnown = breaker.isKnown();
    const body = delivery.body ?? (await readBody(delivery));
    if (body === undefined) {
      log.info("a delivery has no body: it has ended, was erased, or its event is not stored yet", {
        deliveryId,
        endpointId,
      });
      // A retry after a short delay may come before its event is stored.
      return { kind: "left", forMs: ARRIVAL.unstoredMs };
    }
    const configuration = await attempt.configuration();
    if (configuration === undefined) return { kind: "gone" };
    // The endpoint was changed. The publisher's statement decides whether it still gets this event.
    if (arrived && arrived.revision !== String(configuration.revision)) return { kind: "left", forMs: 0 };
    const epoch = shards.epochOf(endpoint.shard);
    // While it waited for its configuration, its shard may have been lost, and be owned again: then the owner between has attempted it.
    if (epoch === undefined || endpoint.isGone || outage.isOn()) return { kind: "put back", restMs: 0 };
    // The health of an endpoint that is new in memory is read only now.
    if (!wasHealthKnown && !manual) {
      if (breaker.limit() === 0) return { kind: "put back", restMs: 0 };
      breaker.begin();
    }

    let sent: Sent;
    if (delivery.interruptions >= MAX_INTERRUPTIONS) sent = interrupted(delivery);
    else {
      const opened = openSecrets(endpoint, configuration);
      if (opened === undefined) return { kind: "put back", restMs: QUARANTINE_MS };
      sent = await send(delivery, body, configuration.url, opened);
      const receiver = { endpointId, organizationId, url: configuration.url };
      const fault = await outage.judge(receiver, sent.result, delivery);
      if (fault !== "theirs") {
        over();
        return { kind: "put back", restMs: fault === "ours" ? OUTAGE_MS : CLOCK_MS };
      }
    }
    const { result, traceparent } = sent;
    // Before the receiver is free for the next attempt, which may have to wait.
    const endsFailures = result.succeeded && breaker.succeeded();
    if (!result.succeeded && isEndpointsFailure(result.failureKind)) breaker.failed({ ...result, manual });
    over(result.durationMs);
    const { revision } = configuration;
    const settlement = settlementOf(attempt, result, { epoch, revision, traceparent });
    const isStored = await settlements.settle(settlement, endsFailures, attempt.locked);
    if (!isStored) return { kind: "left", forMs: UNSETTLED_MS };
    if (!result.succeeded) failures.count(configuration.url, result);
    record(attempt, result);
    return { kind: "settled", nextAttemptAt: settlement.nextAttemptAt };
  }

  function openSecrets({ id: endpointId, organizationId }: Endpoint, configuration: Configuration): Opened | undefined {
    try {
      const secret = secrets.open(configuration.sealedSecret, endpointId);
      const ownHeaders = Object.entries(configuration.headers ?? {}).flatMap(([name, sealed]) => [
        name,
        secrets.open(sealed, headerContext(endpointId, name)),
      ]);
      if (configuration.quarantined) quarantine.end(endpointId);
      configuration.quarantined = false;
      return { secret, ownHeaders };
    } catch (error) {
      const fields = { endpointId, organizationId, error };
      log.error("an endpoint's signing secret or an own header can't be opened, so nothing is sent to it", fields);
      quarantine.begin(endpointId);
      return undefined;
    }
  }

  async function send(delivery: Delivery, body: string | Buffer, url: string, opened: Opened): Promise<Sent> {
    const { deliveryId, eventType, traceparent } = delivery;
    const span = tracing && startAttemptSpan(tracing, delivery, url);
    const continued = span?.traceparent ?? traceparent ?? undefined;
    const result = await sender.send({ ...opened, deliveryId, eventType, url, body, traceparent: continued }, clock);
    span?.end(spanEndOf(result));
    // An event's own context is stored with the event; that of a manual delivery is stored here only.
    return { result, traceparent: span?.traceparent ?? (delivery.eventKey === null ? traceparent : null) };
  }

  /** Ends a delivery for good, without an attempt. No receiver failed it, so this does not count for its endpoint's health. */
  function interrupted({ interruptions }: Delivery): Sent {
    const errorSummary = `interrupted ${interruptions} times: the dispatcher ended before the result was recorded`;
    const nothing = { succeeded: false, durationMs: 0, responseExcerpt: null, retryAfterMs: null, reached: false };
    const said = { statusCode: 503, errorSummary, failureKind: "interrupted" } as const;
    return { result: { ...nothing, ...said, startedAt: clock.now() }, traceparent: null };
  }

  function settlementOf(
    { delivery, manual }: Attempt,
    result: AttemptResult,
    of: { epoch: number; revision: bigint; traceparent: string | null },
  ): Settlement {
    const { deliveryId, endpointId, attempts, arrived, organizationId, eventKey, eventType, createdAt } = delivery;
    const isOver = result.succeeded || result.failureKind === "interrupted";
    const attempt = attempts + 1;
    const nextAttemptAt = isOver ? null : schedule.nextAttemptAt(attempt, endOf(result), result.retryAfterMs);
    const unstored = arrived && eventKey !== null ? { createdAt, organizationId, eventKey, eventType } : undefined;
    const { handedOver } = delivery;
    return { ...result, ...of, deliveryId, endpointId, attempt, manual, handedOver, nextAttemptAt, unstored };
  }

  function record({ delivery, keptWaiting }: Attempt, result: AttemptResult): void {
    const { succeeded, statusCode, errorSummary, failureKind, startedAt, durationMs } = result;
    metrics.attempts.inc({ outcome: succeeded ? "succeeded" : "failed" });
    metrics.attemptDuration.observe(durationMs / 1_000);
    if (delivery.attempts === 0 && !keptWaiting) {
      metrics.firstAttemptDelay.observe((startedAt.getTime() - delivery.createdAt.getTime()) / 1_000);
    }
    if (!log.isDebug) return;
    const { deliveryId, endpointId, organizationId, eventType, attempts, traceparent } = delivery;
    const of = { deliveryId, endpointId, organizationId, eventType, attempt: attempts + 1, traceparent };
    const fields = { ...of, statusCode, errorSummary, failureKind, durationMs };
    log.debug(succeeded ? "attempt succeeded" : "attempt failed", fields);
  }

  return async (attempt) => {
    try {
      return await makeAttempt(attempt);
    } catch (error) {
      const { deliveryId, endpointId, attempts } = attempt.delivery;
      const fields = { deliveryId, endpointId, attempt: attempts + 1, error };
      log.error("an attempt could not be settled; its delivery comes again in a minute", fields);
      return { kind: "left", forMs: UNSETTLED_MS };
    }
  };
}
