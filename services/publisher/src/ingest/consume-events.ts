import type { Broker, Consumer, IncomingMessage, Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import type { Names } from "@herald/common/broker/topology";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { readTraceparent } from "@herald/common/telemetry/trace-context";
import type { TraceSpan, Tracing } from "@herald/common/telemetry/tracing";
import type { Hint } from "@herald/contracts";
import type { FanOut, FanOutItem, FanOutOutcome, FanOutResult } from "../fan-out.ts";
import type { PublisherMetrics } from "../metrics.ts";
import { type IncomingEvent, readEvent } from "./read-event.ts";

export interface ConsumeOptions {
  /** Messages that may be under way in this process; each inbox queue has an equal share of them. */
  prefetch: number;
  /** Events stored by one statement, at the most. */
  batchSize: number;
  /** How far back events are delivered (SPEC 6.1: seven days), in milliseconds. */
  windowMs: number;
}

interface Parts {
  broker: Broker;
  names: Names;
  publisher: Publisher;
  /** Tells dispatchers of new deliveries. */
  hint: (hints: readonly Hint[]) => void;
  fanOut: FanOut;
  clock: Clock;
  metrics: PublisherMetrics;
  tracing: Tracing | undefined;
  log: Log;
}

/** Statements at once: while one batch is on its way to PostgreSQL, the next one is read. */
const BATCHES_AT_ONCE = 2;

/** Bodies of one statement, in characters: 256 KiB events must not add up to a statement of a hundred megabytes. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024;

/**
 * Takes business events from the inbox queues. A message is acknowledged when its event is stored with all its deliveries, or
 * when it is stored in the rejected queue, or when there is nothing to do with it. What the process holds when it dies is
 * delivered again, and storing it again changes nothing.
 */
export function consumeEvents(parts: Parts, { prefetch, batchSize, windowMs }: ConsumeOptions): Consumer {
  const { broker, names, publisher, hint, fanOut, clock, metrics, tracing, log } = parts;
  /** Messages whose events PostgreSQL could not store in time. They come again after a pause, and are kept from the others. */
  const tooMuch = new WeakSet<IncomingMessage>();

  const together = batcher(
    async (items: FanOutItem[]) => {
      const outcomes: FanOutOutcome[] = [];
      for (const part of splitByLength(items)) outcomes.push(...hinted(part.length, await fanOut.together(part)));
      return outcomes;
    },
    { maxItems: batchSize, maxRunning: BATCHES_AT_ONCE },
  );
  const alone = batcher(async ([item]: FanOutItem[]) => hinted(1, await fanOut.alone(item as FanOutItem)), {
    maxItems: 1,
    maxRunning: 1,
  });

  function hinted(events: number, { outcomes, hints, deliveryCount }: FanOutResult): FanOutOutcome[] {
    metrics.batchSize.observe(events);
    metrics.deliveries.inc(deliveryCount);
    hint(hints);
    return outcomes;
  }

  /**
   * Makes all deliveries of an event. One with more endpoints than a page comes round again for each page, behind the events that
   * came meanwhile.
   *
   * @returns why the event can't be stored; undefined where it was
   * @throws where it was too much for PostgreSQL, or the process stops: the message is handed over again after a pause
   */
  async function fanOutWhole(message: IncomingMessage, event: IncomingEvent): Promise<string | undefined> {
    const fanOutPage = tooMuch.has(message) ? alone : together;
    let outcome = await fanOutPage({ event });
    while (outcome.kind === "unfinished") {
      outcome = await fanOutPage({ event, afterEndpointId: outcome.afterEndpointId });
    }
    if (outcome.kind === "too much") {
      tooMuch.add(message);
      throw outcome.error;
    }
    return outcome.kind === "unstorable" ? outcome.reason : undefined;
  }

  /** Moves a message to the rejected queue: its copy is confirmed there before the original goes. */
  async function reject(message: IncomingMessage, reason: string): Promise<void> {
    metrics.events.inc({ result: "rejected" });
    log.warn("an event breaks the contract and was set aside", { queue: names.rejectedQueue, reason });
    await publisher.publish({
      exchange: "",
      routingKey: names.rejectedQueue,
      content: message.content,
      headers: { ...carriedHeaders(message.headers), "x-herald-reason": reason.slice(0, 1_000) },
    });
    message.ack();
  }

  async function handle(message: IncomingMessage): Promise<void> {
    const reading = readEvent(message.content, { traceparent: traceparentOf(message), now: clock.now(), windowMs });
    if (reading.kind === "rejected") return await reject(message, reading.reason);
    if (reading.kind === "event") {
      const reason = await fanOutTraced(message, reading.event);
      if (reason !== undefined) return await reject(message, reason);
    }
    metrics.events.inc({ result: reading.kind === "event" ? "received" : reading.kind });
    message.ack();
  }

  /** The event is stored with the span's trace context: its attempts, however late, refer to its fan-out. */
  async function fanOutTraced(message: IncomingMessage, event: IncomingEvent): Promise<string | undefined> {
    const span = tracing && startSpan(tracing, event);
    try {
      const reason = await fanOutWhole(message, { ...event, traceparent: span?.traceparent ?? event.traceparent });
      span?.end({ error: reason });
      return reason;
    } catch (error) {
      span?.end({ error: (error as Error).message });
      throw error;
    }
  }

  const { inboxQueues } = names;
  return broker.consume({
    queue: inboxQueues,
    prefetch: Math.max(1, Math.floor(prefetch / inboxQueues.length)),
    handle,
  });
}

function splitByLength(items: readonly FanOutItem[]): FanOutItem[][] {
  const parts: FanOutItem[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const item of items) {
    if (length + item.event.body.length > MAX_BATCH_LENGTH) {
      parts.push([]);
      length = 0;
    }
    length += item.event.body.length;
    parts.at(-1)?.push(item);
  }
  return parts;
}

function startSpan(tracing: Tracing, { organizationId, id, type, traceparent }: IncomingEvent): TraceSpan {
  return tracing.startSpan("fan-out", {
    kind: "consumer",
    parent: traceparent,
    attributes: { "herald.organization.id": organizationId, "herald.event.id": id, "herald.event.type": type },
  });
}

/** The emitter's W3C trace context, or null where there is none or it is not valid. */
function traceparentOf(message: IncomingMessage): string | null {
  const value = message.headers.traceparent;
  return typeof value === "string" && readTraceparent(value) ? value : null;
}
