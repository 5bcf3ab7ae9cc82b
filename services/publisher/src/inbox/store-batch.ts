import type { Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import { CAME_TOO_OFTEN, type Names } from "@herald/common/broker/topology";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { readTraceparent, type TraceSpan, type Tracing } from "@herald/common/telemetry/tracing";
import type { EventTypeRules, UndeliveredCause } from "@herald/contracts";
import type { FanOutItem, FanOutOutcome, FanOutResult } from "../event/fan-out.ts";
import { type InboxMessage, readEvent } from "../event/read-event.ts";
import type { EVENT_RESULTS, PublisherMetrics } from "../metrics.ts";
import type { ForOwners, IncomingEvent, Rejection } from "../sql/rows.ts";
import { harmless, rejectionOf } from "./rejections.ts";

export interface StoringParts {
  publisher: Publisher;
  names: Names;
  reportUndelivered: (event: Rejection) => Promise<void>;
  handOver: (made: ForOwners) => void;
  /** Takes an event again that has more endpoints than a page. */
  again: (incoming: InboxMessage) => void;
  /** Receives an event that PostgreSQL could not store in time, even alone. */
  oversized: (incoming: InboxMessage) => void;
  metrics: PublisherMetrics;
  clock: Clock;
  tracing: Tracing | undefined;
  log: Log;
}

const MAX_REASON_CHARACTERS = 1_000;

/** Cause and reason of an event that keeps the contract and is not delivered. */
const SAID_OF = {
  ignored: {
    cause: "unknown_type",
    reason: "/type is none that events are delivered of: there is no type of this exact name",
  },
  stale: { cause: "too_old", reason: "/occurredAtUtc was too long ago when the event came" },
} as const satisfies Record<string, { cause: UndeliveredCause; reason: string }>;

/** Why RabbitMQ took an event out of the inbox, by its own word for it. */
const DEAD_BY = {
  expired: "its AMQP property expiration, or a policy's message-ttl, ran out before a publisher took it",
  delivery_limit: CAME_TOO_OFTEN,
  other: "RabbitMQ took it out of the inbox",
};

type EventResult = (typeof EVENT_RESULTS)[number];
type FanOutPages = (items: readonly FanOutItem[]) => Promise<FanOutResult>;

export function createStoring(
  { publisher, names, reportUndelivered, handOver, again, oversized, metrics, clock, tracing, log }: StoringParts,
  { windowMs, eventTypes }: { windowMs: number; eventTypes: EventTypeRules },
) {
  const { eventsExchange, deadLetterQueue, rejectedQueue } = names;

  /** Reads the event of a message; undefined if there is nothing to store: then the message is settled here. */
  function read(incoming: InboxMessage): FanOutItem | undefined {
    const event = incoming.event ?? judged(incoming);
    if (event === undefined) return undefined;
    const { afterEndpointId } = incoming;
    return afterEndpointId === undefined ? { event } : { event, afterEndpointId };
  }

  function judged(incoming: InboxMessage): IncomingEvent | undefined {
    const { message, arrivedAt: now } = incoming;
    if (message.queue === deadLetterQueue) {
      // RabbitMQ puts its own entry first. Other headers of this kind may come from the emitter.
      const [death] = [message.headers["x-death"]].flat() as ({ reason?: unknown } | undefined)[];
      const reason = death?.reason === "expired" || death?.reason === "delivery_limit" ? death.reason : "other";
      setAside(incoming, DEAD_BY[reason]);
      return undefined;
    }
    // While PostgreSQL's clock is wrong by hours, its time alone would reject every event.
    const aheadMs = clock.machineAheadMs?.() ?? 0;
    const traceparent = traceparentOf(incoming);
    const reading = readEvent(message.content, { traceparent, now, aheadMs, windowMs, eventTypes });
    if (reading.kind === "rejected") {
      reject(incoming, reading.reason, reading.isInFuture ? "in_future" : "rejected");
      return undefined;
    }
    if (reading.kind !== "event") {
      const { kind } = reading;
      const { cause, reason } = SAID_OF[kind];
      reportUndelivered(rejectionOf(message.content, cause, reason))
        .then(() => finish(incoming, kind))
        .catch(incoming.failed);
      return undefined;
    }
    const { event } = reading;
    incoming.span ??= tracing && startSpan(tracing, event, { exchange: eventsExchange, queue: message.queue });
    // The event is stored with the span's trace context, so that its attempts, however late, refer to its fan-out.
    return { ...event, traceparent: incoming.span?.traceparent ?? event.traceparent };
  }

  function settle(incoming: InboxMessage, outcome: FanOutOutcome): void {
    switch (outcome.kind) {
      case "stored":
        incoming.span?.end();
        finish(incoming, "received");
        break;
      case "unfinished":
        // The next page of the event comes after the events that arrived since.
        incoming.afterEndpointId = outcome.afterEndpointId;
        again(incoming);
        break;
      case "unstorable":
        incoming.span?.end({ errorType: "unstorable" });
        // PostgreSQL's message may quote the event, so it stays with the event's copy.
        setAside(incoming, outcome.reason, "it can't be stored; the queue of rejected events says why");
        break;
      case "too much":
        oversized(incoming);
        fail(incoming, outcome.error);
        break;
    }
  }

  function finish(incoming: InboxMessage, result: EventResult): void {
    metrics.events.inc({ result });
    incoming.done();
  }

  function fail(incoming: InboxMessage, error: unknown): void {
    incoming.span?.end({ errorType: kindOf(error), error: (error as Error).message });
    incoming.failed(error);
  }

  function reject(incoming: InboxMessage, reason: string, cause: UndeliveredCause): void {
    moveToRejected(incoming, reason, { cause, noticeReason: reason, result: "rejected" });
  }

  /** Takes an event out of the way that may well be sound. */
  function setAside(incoming: InboxMessage, reason: string, noticeReason = reason): void {
    moveToRejected(incoming, reason, { cause: "rejected", noticeReason, result: "set_aside" });
  }

  /** Moves a message to the rejected queue. `noticeReason` is the reason in notice and search. */
  function moveToRejected(
    incoming: InboxMessage,
    reason: string,
    { cause, noticeReason, result }: { cause: UndeliveredCause; noticeReason: string; result: EventResult },
  ): void {
    const { content, headers } = incoming.message;
    // A reason may quote the name of a field, which can have any length.
    const shown = harmless(reason.slice(0, MAX_REASON_CHARACTERS));
    log.warn("an event can't be taken and was set aside", { queue: rejectedQueue, reason: shown });
    const said = { ...carriedHeaders(headers), "x-herald-reason": shown };
    const copy = { exchange: "", routingKey: rejectedQueue, content, headers: said };
    // The notice comes first: it is tried again while PostgreSQL is away, and must not leave a copy each time.
    reportUndelivered(rejectionOf(content, cause, noticeReason))
      .then(() => publisher.publish(copy))
      .then(() => finish(incoming, result))
      .catch(incoming.failed);
  }

  /** Fans out the events of a batch, and settles each. Never throws: an event that can't be stored now has `failed`. */
  async function storeBatch(batch: readonly InboxMessage[], fanOutPages: FanOutPages): Promise<void> {
    const events: { incoming: InboxMessage; item: FanOutItem }[] = [];
    for (const incoming of batch) {
      const item = read(incoming);
      if (item) events.push({ incoming, item });
    }
    if (events.length === 0) return;
    try {
      const { outcomes, made, deliveryCount } = await fanOutPages(events.map(({ item }) => item));
      metrics.batchSize.observe(events.length);
      metrics.deliveries.inc(deliveryCount);
      for (const each of made) handOver(each);
      for (const [index, { incoming }] of events.entries()) settle(incoming, outcomes[index] as FanOutOutcome);
    } catch (error) {
      for (const { incoming } of events) fail(incoming, error);
    }
  }

  return { read, storeBatch };
}

/** Starts the span of an event, from its arrival until it is stored. It is named after the exchange, and not after one of many queues. */
function startSpan(
  tracing: Tracing,
  { organizationId, id, type, traceparent }: IncomingEvent,
  { exchange, queue }: { exchange: string; queue: string },
): TraceSpan {
  return tracing.startSpan(`process ${exchange}`, {
    kind: "consumer",
    parent: traceparent,
    attributes: {
      "messaging.system": "rabbitmq",
      "messaging.operation.type": "process",
      "messaging.operation.name": "process",
      "messaging.destination.name": `${exchange}:${queue}`,
      "messaging.destination.template": exchange,
      "messaging.message.id": id,
      "herald.organization.id": organizationId,
      "herald.event.type": type,
    },
  });
}

/** PostgreSQL's code, or the error's class. */
function kindOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name: string };
  return typeof code === "string" ? code : name;
}

/** The emitter's W3C trace context; null if there is none or it is not valid. */
function traceparentOf({ message }: InboxMessage): string | null {
  const value = message.headers.traceparent;
  return typeof value === "string" && readTraceparent(value) ? value : null;
}
