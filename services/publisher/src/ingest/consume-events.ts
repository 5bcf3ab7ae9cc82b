import type { Broker, Consumer, IncomingMessage, Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import { type Names, PROBE_HEADER } from "@herald/common/broker/topology";
import type { Clock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";
import type { Tracing } from "@herald/common/telemetry/tracing";
import { type EventTypeRules, MAX_EVENT_BYTES } from "@herald/contracts";
import type { FanOut, FanOutItem, FanOutResult } from "../fan-out.ts";
import { type ForOwners, MAX_BODY_BYTES } from "../hand-over.ts";
import type { PublisherMetrics } from "../metrics.ts";
import type { Rejection } from "../rejections.ts";
import { batchesByTurns } from "./batches.ts";
import type { Message } from "./bundle.ts";
import { createEarly } from "./early.ts";
import { watchFloods } from "./floods.ts";
import type { Held } from "./held.ts";
import { bundledIn, moveBehind } from "./move-behind.ts";
import { createOnArrival } from "./on-arrival.ts";
import { organizationOf } from "./organization.ts";
import { createStoring } from "./store-batch.ts";

export interface ConsumeOptions {
  /** How many bytes of messages this process may hold. */
  inboxBytes: number;
  /** How many events one statement may store. */
  batchSize: number;
  /** How far back events are delivered (SPEC 6.1: seven days), in milliseconds. */
  windowMs: number;
  /** What the types of events and their data have to be. */
  eventTypes: EventTypeRules;
  /** How long a message that can't be stored is held, in milliseconds; 20 minutes where absent. */
  holdMs?: number;
}

export interface EventsConsumer extends Consumer {
  /** For how long the oldest event that is held has waited, in seconds; 0 where none is held. */
  oldestAgeSeconds(): number;
}

interface Parts {
  broker: Broker;
  names: Names;
  publisher: Publisher;
  /** Hands new deliveries over to the owners of their endpoints. */
  handOver: (made: ForOwners) => void;
  /** Says to searches and to the product that an event is not taken. */
  reportUndelivered: (event: Rejection) => Promise<void>;
  fanOut: FanOut;
  clock: Clock;
  metrics: PublisherMetrics;
  tracing: Tracing | undefined;
  log: Log;
}

/**
 * How many statements run at once. One more is for organizations of which nothing is being stored: beside a flood, whose statements are large, their
 * events wait for none of them.
 */
const BATCHES_AT_ONCE = 1;
const BATCHES_APART = 1;

/**
 * How many bytes of messages a batch may have. Only the batches that run are text, of which there are several copies on the way to PostgreSQL; and
 * events of 256 KiB must not add up to a statement of a hundred megabytes.
 */
const MAX_BATCH_BYTES = 4 * 1024 ** 2;

/**
 * Of events that are handed over on arrival. At a usual load a third of a second is enough for an attempt and its settlement. At the most it is less
 * than a second: what is older and still not stored, owners leave alone.
 */
const EARLY = { most: 2_500, leastMs: 150, mostMs: 650, togetherMs: 150 };

/** How many events are handed over in one turn of the event loop. */
const MAX_ARRIVING = 100;

/** A message that may be handed over before it is stored. A larger event is not, and is not read before its batch. */
const MAX_SMALL_BYTES = MAX_BODY_BYTES + 2 * 1024;

/**
 * A bundle that has come back this often is taken apart. One of its events may end every publisher that handles it, and the delivery limit, of 20,
 * shall then take that event alone out of the queue.
 */
const APART_AFTER = 10;

/**
 * For an inbox queue. What is handed over on arrival is held for up to 300 ms while there is no crowd, so one busy queue has some 2,000 events a
 * second.
 */
const PREFETCH = 500;

/** For the second queue of a bucket. A message of it is a whole batch of events: one is being stored, and one waits. */
const BEHIND_PREFETCH = 2;

/** RabbitMQ closes a channel that holds a message for 30 minutes. */
const HOLD_MS = 20 * 60_000;

/**
 * Takes business events from the inbox queues. A message is acknowledged when its event (of a bundle, each event) is stored with all its
 * deliveries, or stored in the rejected queue and the product's notice in PostgreSQL, or has gone behind, or when there is nothing to do with it.
 * What the process holds when it dies is delivered again, and storing it again changes nothing.
 */
export function consumeEvents(
  { broker, names, publisher, handOver, reportUndelivered, fanOut, clock, metrics, tracing, log }: Parts,
  { inboxBytes, batchSize, windowMs, eventTypes, holdMs = HOLD_MS }: ConsumeOptions,
): EventsConsumer {
  const { inboxQueues, eventQueues, eventsExchange, rejectedQueue } = names;
  const isInbox = new Set(inboxQueues);
  const inspector = broker.inspector();
  const floods = watchFloods({ inspector, clock, log });
  /** The messages that this process holds, in the order of their arrival. */
  const held = new Set<Held>();
  /** Events of a message that are left, where others of its bundle are done already. */
  const left = new WeakMap<IncomingMessage, Message[]>();
  /** Messages whose events PostgreSQL could not store in time. They come again after a pause, and are kept from the others. */
  const tooMuch = new WeakSet<Message>();

  const laneOf = ({ message }: Held) => (tooMuch.has(message) ? alone : together);
  const onArrival = createOnArrival({ clock, handOver });
  const { read, store } = createStoring(
    {
      publisher,
      eventsExchange,
      rejectedQueue,
      reportUndelivered,
      handOver,
      again: (each) => laneOf(each).add(each),
      tooMuch: ({ message }) => tooMuch.add(message),
      metrics,
      tracing,
      log,
    },
    { windowMs, eventTypes },
  );
  const measures = {
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: ({ message }: Held) => message.content.byteLength,
    groupOf: ({ organization }: Held) => organization,
  };
  const together = batchesByTurns<Held>((batch) => store(batch, (items) => storeTogether(batch, items)), {
    ...measures,
    maxItems: batchSize,
    maxRunning: BATCHES_AT_ONCE,
    maxApart: BATCHES_APART,
  });
  const storeAlone = (items: readonly FanOutItem[]) => onArrival.storing(() => fanOut.alone(items[0] as FanOutItem));
  const alone = batchesByTurns<Held>((batch) => store(batch, storeAlone), { ...measures, maxItems: 1, maxRunning: 1 });
  const early = createEarly<Held>(together.add, EARLY);
  /** While one waits until there is room, organizations of which nothing does have another. */
  const arriving = batchesByTurns<Held>(handOverArrived, {
    ...measures,
    maxItems: MAX_ARRIVING,
    maxRunning: BATCHES_AT_ONCE,
    maxApart: BATCHES_APART,
  });

  const moves = moveBehind({ publisher, metrics, stay: (each) => laneOf(each).add(each) }, { maxItems: batchSize });

  async function handle(message: IncomingMessage): Promise<void> {
    if (message.headers[PROBE_HEADER] !== undefined) return message.ack();
    const bundled = isInbox.has(message.queue) ? undefined : bundledIn(message);
    if (bundled && Number(message.headers["x-delivery-count"]) >= APART_AFTER) {
      for (const { content, headers } of bundled) {
        await publisher.publish({
          exchange: "",
          routingKey: message.queue,
          content,
          headers: carriedHeaders(headers),
        });
      }
      return message.ack();
    }
    const events = left.get(message) ?? bundled ?? [message];
    // What may have come before is stored first.
    const isFirst = isInbox.has(message.queue) && !message.redelivered && !left.has(message);
    const results = await Promise.allSettled(events.map((event) => take(event, message.queue, isFirst)));
    const failed = events.filter((_, index) => results[index]?.status === "rejected");
    if (failed.length === 0) return message.ack();
    left.set(message, failed);
    throw results.find((result) => result.status === "rejected")?.reason;
  }

  /** Resolves when nothing is left to do for the event. @throws where it can't be stored now */
  function take(message: Message, queue: string, isFirst: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const each: Held = {
        message,
        queue,
        organization: organizationOf(message.content),
        arrivedAt: clock.now(),
        arrivedAtMs: clock.monotonicMs(),
        done: () => {
          over(each);
          resolve();
        },
        failed: (error) => {
          over(each);
          reject(error);
        },
      };
      held.add(each);
      if (goesBehind(each, queue)) moves.add(each, queue);
      else if (isFirst && message.content.byteLength <= MAX_SMALL_BYTES) arriving.add(each);
      else laneOf(each).add(each);
    });
  }

  function over(each: Held): void {
    held.delete(each);
    early.over(each);
  }

  /** Hands over what is as usual. The rest is stored at once. Resolves when there is room for more. */
  async function handOverArrived(batch: readonly Held[]): Promise<void> {
    const arrivedAt = clock.now();
    const arrived = batch.flatMap((each) => {
      // Its owner leaves alone what is said to have come a second ago: by then it should have been stored.
      each.arrivedAt = arrivedAt;
      const item = read(each);
      if (item === undefined) return [];
      each.event = item.event;
      return [{ each, event: item.event }];
    });
    const handedOver = onArrival.handOver(arrived.map(({ event }) => event));
    for (const { each, event } of arrived) {
      if (handedOver.has(event)) early.add(each);
      else together.add(each);
    }
    await early.room();
  }

  /** What a statement has made due of events that were handed over, had no result yet. */
  async function storeTogether(batch: readonly Held[], items: readonly FanOutItem[]): Promise<FanOutResult> {
    const result = await onArrival.storing(() => fanOut.together(items));
    const keys = new Set(batch.filter(early.has).map(({ event }) => event?.key));
    const made = result.made.flatMap(({ deliveries }) => deliveries);
    const late = new Set(made.map(({ event }) => event.key).filter((key) => keys.has(key)));
    early.stored({ count: keys.size, late: late.size });
    return result;
  }

  /** What has come out of a second queue is moved no more, and what PostgreSQL can't store in time stays apart. */
  function goesBehind({ message, organization }: Held, queue: string): boolean {
    if (tooMuch.has(message) || !isInbox.has(queue)) return false;
    if (message.content.byteLength > MAX_EVENT_BYTES) return false;
    return floods.goesBehind(queue, organization);
  }

  /** Drops the messages that wait, which come again on another channel. Running ones are stored, and change nothing when they come again. */
  function dropWaiting(): void {
    for (const each of [...arriving.drop(), ...early.drop(), ...together.drop(), ...alone.drop(), ...moves.drop()]) {
      each.span?.end({ errorType: "channel_lost", error: "its channel has ended" });
      each.done();
    }
  }

  const consume = () =>
    broker.consumeEvents({
      queue: eventQueues,
      prefetch: (queue) => (isInbox.has(queue) ? PREFETCH : BEHIND_PREFETCH),
      maxBytes: inboxBytes,
      handle,
      lost: dropWaiting,
    });
  let consumer = consume();

  function oldestAgeMs(): number {
    const [oldest] = held;
    return oldest === undefined ? 0 : clock.monotonicMs() - oldest.arrivedAtMs;
  }

  /**
   * Where messages can't be stored for long, all go back to their queues, and none is taken until what runs has ended, so until
   * PostgreSQL is there. Taking them again at once would count towards their delivery limit every time.
   */
  async function giveBack(signal: AbortSignal): Promise<void> {
    if (oldestAgeMs() < holdMs) return;
    log.error("events can't be stored for long; they go back to RabbitMQ until PostgreSQL takes some again");
    await consumer.close({ drainTimeoutMs: 0 });
    await Promise.race([Promise.all([together.idle(), alone.idle()]), aborted(signal)]);
    if (signal.aborted) return;
    log.info("events are taken again");
    consumer = consume();
  }

  const watching = repeat(giveBack, {
    intervalMs: holdMs / 20,
    onFailure: (error) => log.error("events that wait for long can't be given back", { error }),
  });

  return {
    oldestAgeSeconds: () => oldestAgeMs() / 1_000,
    async close(options) {
      await watching.stop();
      await consumer.close(options);
      await inspector.close();
    },
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
