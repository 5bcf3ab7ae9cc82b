import type { Broker, Consumer, IncomingMessage, Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import type { Names } from "@herald/common/broker/topology";
import type { Clock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";
import { readTraceparent } from "@herald/common/telemetry/trace-context";
import type { TraceSpan, Tracing } from "@herald/common/telemetry/tracing";
import { type Hint, MAX_EVENT_BYTES } from "@herald/contracts";
import type { FanOut, FanOutItem, FanOutOutcome, FanOutResult } from "../fan-out.ts";
import type { PublisherMetrics } from "../metrics.ts";
import { batchesByTurns } from "./batches.ts";
import { type IncomingEvent, readEvent } from "./read-event.ts";

export interface ConsumeOptions {
  /** Bytes of messages that this process holds at the most. */
  inboxBytes: number;
  /** Events stored by one statement, at the most. */
  batchSize: number;
  /** How far back events are delivered (SPEC 6.1: seven days), in milliseconds. */
  windowMs: number;
  /** How long a message is held while it can't be stored, in milliseconds; then it waits in its queue. */
  holdMs?: number;
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

/** A message, from its arrival until it is settled or its channel has ended. Only its bytes, until its batch runs. */
interface Held {
  message: IncomingMessage;
  arrivedAt: Date;
  /** Where it has more endpoints than a page: those up to this one have their deliveries. */
  afterEndpointId?: string;
  span?: TraceSpan | undefined;
  /** The consumer is done with it. */
  done(): void;
  /** The consumer hands it over again after a pause. */
  failed(error: unknown): void;
}

/** Statements at once: while one batch is on its way to PostgreSQL, the next one is read. */
const BATCHES_AT_ONCE = 2;

/**
 * Messages of one batch, in bytes. Only those of the batches that run are read into text, of which there are several copies on the way to
 * PostgreSQL; and 256 KiB events must not add up to a statement of a hundred megabytes.
 */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** RabbitMQ closes a channel that holds a message for 30 minutes. */
const HOLD_MS = 20 * 60_000;

/**
 * Takes business events from the inbox queues. A message is acknowledged when its event is stored with all its deliveries, or
 * when it is stored in the rejected queue, or when there is nothing to do with it. What the process holds when it dies is
 * delivered again, and storing it again changes nothing.
 */
export function consumeEvents(
  parts: Parts,
  { inboxBytes, batchSize, windowMs, holdMs = HOLD_MS }: ConsumeOptions,
): Consumer {
  const { broker, names, publisher, hint, fanOut, clock, metrics, tracing, log } = parts;
  const held = new Set<Held>();
  /** Messages whose events PostgreSQL could not store in time. They come again after a pause, and are kept from the others. */
  const tooMuch = new WeakSet<IncomingMessage>();

  const each = {
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: ({ message }: Held) => message.content.byteLength,
    groupOf: ({ message }: Held) => message.queue,
  };
  const together = batchesByTurns((batch: readonly Held[]) => store(batch, fanOut.together), {
    ...each,
    maxItems: batchSize,
    maxRunning: BATCHES_AT_ONCE,
  });
  const alone = batchesByTurns((batch: readonly Held[]) => store(batch, ([item]) => fanOut.alone(item as FanOutItem)), {
    ...each,
    maxItems: 1,
    maxRunning: 1,
  });

  function add(each: Held): void {
    (tooMuch.has(each.message) ? alone : together).add(each);
  }

  function handle(message: IncomingMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const each: Held = {
        message,
        arrivedAt: clock.now(),
        done: () => {
          held.delete(each);
          resolve();
        },
        failed: (error) => {
          held.delete(each);
          reject(error);
        },
      };
      held.add(each);
      add(each);
    });
  }

  /** Reads the messages of a batch, and fans out the events among them. Never throws. */
  async function store(
    batch: readonly Held[],
    fanOutPages: (items: readonly FanOutItem[]) => Promise<FanOutResult>,
  ): Promise<void> {
    const events: { each: Held; item: FanOutItem }[] = [];
    for (const each of batch) {
      const item = read(each);
      if (item) events.push({ each, item });
    }
    if (events.length === 0) return;
    try {
      const { outcomes, hints, deliveryCount } = await fanOutPages(events.map(({ item }) => item));
      metrics.batchSize.observe(events.length);
      metrics.deliveries.inc(deliveryCount);
      hint(hints);
      for (const [index, { each }] of events.entries()) settle(each, outcomes[index] as FanOutOutcome);
    } catch (error) {
      for (const { each } of events) fail(each, error);
    }
  }

  /** An event to fan out; undefined where there is nothing to store. */
  function read(each: Held): FanOutItem | undefined {
    const { message, arrivedAt, afterEndpointId } = each;
    const reading = readEvent(message.content, { traceparent: traceparentOf(message), now: arrivedAt, windowMs });
    if (reading.kind === "rejected") {
      reject(each, reading.reason);
      return undefined;
    }
    if (reading.kind !== "event") {
      finish(each, reading.kind);
      return undefined;
    }
    const { event } = reading;
    each.span ??= tracing && startSpan(tracing, event);
    // The event is stored with the span's trace context: its attempts, however late, refer to its fan-out.
    const item = { event: { ...event, traceparent: each.span?.traceparent ?? event.traceparent } };
    return afterEndpointId === undefined ? item : { ...item, afterEndpointId };
  }

  function settle(each: Held, outcome: FanOutOutcome): void {
    switch (outcome.kind) {
      case "stored":
        each.span?.end({ error: undefined });
        return finish(each, "received");
      case "unfinished":
        // It comes round again for each page, behind the events that came meanwhile.
        each.afterEndpointId = outcome.afterEndpointId;
        return add(each);
      case "unstorable":
        each.span?.end({ error: outcome.reason });
        return reject(each, outcome.reason);
      case "too much":
        tooMuch.add(each.message);
        return fail(each, outcome.error);
    }
  }

  function finish(each: Held, result: "received" | "stale" | "ignored" | "rejected"): void {
    metrics.events.inc({ result });
    each.message.ack();
    each.done();
  }

  function fail(each: Held, error: unknown): void {
    each.span?.end({ error: (error as Error).message });
    each.failed(error);
  }

  /** Moves a message to the rejected queue: its copy is confirmed there before the original goes. */
  function reject(each: Held, reason: string): void {
    const { message } = each;
    log.warn("an event breaks the contract and was set aside", { queue: names.rejectedQueue, reason });
    const published = publisher.publish({
      exchange: "",
      routingKey: names.rejectedQueue,
      content: message.content,
      headers: { ...carriedHeaders(message.headers), "x-herald-reason": reason.slice(0, 1_000) },
    });
    published.then(() => finish(each, "rejected"), each.failed);
  }

  function drop(): void {
    for (const each of [...together.drop(), ...alone.drop()]) {
      each.span?.end({ error: "its channel has ended" });
      each.done();
    }
  }

  const consume = () =>
    broker.consume({ queue: names.inboxQueues, ...prefetchOf(inboxBytes, names.inboxQueues.length), handle, lost: drop });
  let consumer = consume();

  /**
   * Messages that can't be stored for long go back to their queues, once, and the next ones are taken when PostgreSQL takes some again.
   * To hold them on would end the channel, and to take them at once would bring them nearer to their delivery limit each time.
   */
  async function giveBackOld(signal: AbortSignal): Promise<void> {
    const [oldest] = held;
    if (oldest === undefined || clock.now().getTime() - oldest.arrivedAt.getTime() < holdMs) return;
    log.error("events can't be stored for long; they wait in their queues, and none is taken meanwhile");
    await consumer.close({ drainTimeoutMs: 0 });
    const stored = Promise.all([together.idle(), alone.idle()]);
    await Promise.race([stored, aborted(signal)]);
    if (!signal.aborted) consumer = consume();
  }

  const watching = repeat(giveBackOld, {
    intervalMs: holdMs / 20,
    onFailure: (error) => log.error("events that wait for long can't be given back", { error }),
  });

  return {
    async close(options) {
      await watching.stop();
      await consumer.close(options);
    },
  };
}

/**
 * RabbitMQ counts messages, and no bytes. So as many are taken as the bytes allow where each is as large as it may be. Each queue may
 * always have some, and most go to the queues that are busy.
 */
export function prefetchOf(
  inboxBytes: number,
  queues: number,
): { prefetch: number; spare: { consumers: number; prefetch: number } } {
  const messages = Math.floor(inboxBytes / MAX_EVENT_BYTES);
  const prefetch = Math.max(1, Math.floor(messages / 3 / queues));
  return { prefetch, spare: { consumers: SPARE_CONSUMERS, prefetch: Math.floor((messages - prefetch * queues) / SPARE_CONSUMERS) } };
}

/** Few and large: a quorum queue is slow with less than fifty messages on their way. */
const SPARE_CONSUMERS = 4;

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
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
