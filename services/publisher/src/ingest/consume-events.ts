import type { Broker, Consumer, IncomingMessage, Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import type { Names } from "@herald/common/broker/topology";
import { batcher } from "@herald/common/runtime/batcher";
import type { Log } from "@herald/common/telemetry/log";
import { readTraceparent } from "@herald/common/telemetry/trace-context";
import type { TraceSpan, Tracing } from "@herald/common/telemetry/tracing";
import type { Hint } from "@herald/contracts";
import type { FanOut } from "../fan-out.ts";
import type { PublisherMetrics } from "../metrics.ts";
import { type IncomingEvent, readEvent } from "./read-event.ts";

export interface ConsumeOptions {
  /** Messages that may be under way in this process. */
  prefetch: number;
  /** Events stored by one statement, at the most. */
  batchSize: number;
}

interface Parts {
  broker: Broker;
  names: Names;
  publisher: Publisher;
  fanOut: FanOut;
  metrics: PublisherMetrics;
  tracing: Tracing | undefined;
  log: Log;
}

/** Statements at once: while one batch waits for its hints to be confirmed, the next one is stored. */
const BATCHES_AT_ONCE = 2;

/** Bodies of one statement, in characters: 256 KiB events must not add up to a statement of a hundred megabytes. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024;

/**
 * Takes business events from the inbox queue. A message is acknowledged when its event is stored and its hints are
 * confirmed, or when it is stored in the rejected queue, or when there is nothing to do with it. What the process holds
 * when it dies comes again, and does no harm twice.
 */
export function consumeEvents(parts: Parts, { prefetch, batchSize }: ConsumeOptions): Consumer {
  const { broker, names, publisher, fanOut, metrics, tracing, log } = parts;

  interface Incoming {
    message: IncomingMessage;
    event: IncomingEvent;
  }

  /** Answers why an event could not be stored; undefined where it was. */
  const fanOutInBatches = batcher<Incoming, string | undefined>(
    async (batch) => {
      const reasons = new Map<IncomingEvent, string>();
      for (const part of splitByLength(batch)) await process(part, reasons);
      return batch.map(({ event }) => reasons.get(event));
    },
    { maxItems: batchSize, maxRunning: BATCHES_AT_ONCE },
  );

  async function process(batch: readonly Incoming[], reasons: Map<IncomingEvent, string>): Promise<void> {
    metrics.batchSize.observe(batch.length);
    const { hints, unstorable } = await fanOut(batch.map(({ event }) => event));
    metrics.deliveries.inc(hints.length);
    await publishHints(hints);
    for (const { event, reason } of unstorable) reasons.set(event, reason);
    for (const { message, event } of batch) {
      const reason = reasons.get(event);
      if (reason === undefined) message.ack();
      else await reject(message, reason);
    }
  }

  /** A hint that isn't sent costs its delivery half a minute and no more, so it holds up no event. */
  async function publishHints(hints: readonly Hint[]): Promise<void> {
    const results = await Promise.allSettled(hints.map((hint) => publisher.publish(hintMessage(hint))));
    const failures = results.filter((result) => result.status === "rejected");
    metrics.hints.inc({ result: "sent" }, results.length - failures.length);
    if (failures.length === 0) return;
    metrics.hints.inc({ result: "failed" }, failures.length);
    log.warn("hints were not sent; the retry pass finds their deliveries", {
      hints: failures.length,
      error: failures[0]?.reason,
    });
  }

  function hintMessage(hint: Hint) {
    return { exchange: "", routingKey: names.firstHintsQueue, content: Buffer.from(JSON.stringify(hint)) };
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
    const reading = readEvent(message.content, traceparentOf(message));
    if (reading.kind === "ignored") {
      metrics.events.inc({ result: "ignored" });
      message.ack();
    } else if (reading.kind === "rejected") {
      await reject(message, reading.reason);
    } else {
      metrics.events.inc({ result: "received" });
      await fanOutTraced(message, reading.event);
    }
  }

  /** The event is stored with the span's trace context: its attempts, however late, refer to its fan-out. */
  async function fanOutTraced(message: IncomingMessage, event: IncomingEvent): Promise<void> {
    const span = tracing && startSpan(tracing, event);
    try {
      const traceparent = span?.traceparent ?? event.traceparent;
      const reason = await fanOutInBatches({ message, event: { ...event, traceparent } });
      span?.end({ error: reason });
    } catch (error) {
      span?.end({ error: (error as Error).message });
      throw error;
    }
  }

  return broker.consume({ queue: names.inboxQueue, prefetch, handle });
}

function splitByLength<T extends { event: IncomingEvent }>(batch: readonly T[]): T[][] {
  const parts: T[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const item of batch) {
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

/** The emitter's W3C trace context, or null where there is none that one could continue. */
function traceparentOf(message: IncomingMessage): string | null {
  const value = message.headers.traceparent;
  return typeof value === "string" && readTraceparent(value) ? value : null;
}
