import { once } from "node:events";
import type { Broker, Consumer, IncomingMessage } from "@herald/common/broker/broker";
import { isProbe } from "@herald/common/broker/topology";
import { repeat } from "@herald/common/runtime/repeat";
import type { EventTypeRules } from "@herald/contracts";
import { createArrival } from "../arrival/arrival.ts";
import type { FanOut, FanOutItem } from "../fan-out.ts";
import { batchesByTurns } from "./batches.ts";
import { watchFloods } from "./floods.ts";
import { type InboxMessage, organizationOf } from "./read-event.ts";
import { createStoring, type StoringParts } from "./store-batch.ts";

export interface ConsumeOptions {
  /** Bytes of messages that this process may hold. */
  inboxBytes: number;
  /** Events that one statement may store. */
  batchSize: number;
  /** How far back events are delivered (SPEC 6.1: seven days), in milliseconds. */
  windowMs: number;
  /** The rules for event types and their data. */
  eventTypes: EventTypeRules;
  /** How long none may be stored before all go back to RabbitMQ, in milliseconds: longer than a statement may take. */
  nothingStoredMs: number;
  /** How long the connection may rest before all go back to RabbitMQ, in milliseconds; 15 s by default. */
  restMs?: number;
}

export interface EventsConsumer extends Consumer {
  /** How long the oldest held event has waited, in seconds; 0 without one. */
  oldestAgeSeconds(): number;
}

interface Parts extends Omit<StoringParts, "again" | "oversized"> {
  broker: Broker;
  fanOut: FanOut;
}

/** Messages of a queue that this process may hold. An event on arrival is held for up to 300 ms, so a busy queue has some 2,000 events a second. */
const PREFETCH = 500;

/** A sixteenth of a bucket has a flood if it takes this share of the places in a queue, or of the bytes. Its neighbours have the rest. */
const FLOOD_SHARE = 1 / 2;

/** How often to look for floods that have ended; one that begins is looked at at once. */
const LOOK_MS = 1_000;

/** Few enough of each queue that the connection is always read. */
const CAREFUL_PREFETCH = 1;

/** RabbitMQ closes a connection to which it can send nothing for 30 s. */
const REST_MS = 15_000;

/** How often to look whether events have to go back. */
const WATCH_MS = 500;

/**
 * Takes business events from the inbox queues. A message is acknowledged when its event is stored with all its deliveries, or is in the rejected
 * queue with its notice in PostgreSQL, or needs no work. To store an event twice changes nothing.
 */
export function consumeEvents(
  parts: Parts,
  { inboxBytes, batchSize, windowMs, eventTypes, nothingStoredMs, restMs = REST_MS }: ConsumeOptions,
): EventsConsumer {
  const { broker, names, fanOut, clock, log } = parts;
  const { inboxQueues, eventQueues } = names;
  const isFirstQueue = new Set(inboxQueues);
  const inspector = broker.inspector();
  const floods = watchFloods(
    { ...parts, inspector },
    { most: FLOOD_SHARE * PREFETCH, mostBytes: FLOOD_SHARE * inboxBytes },
  );
  /** The events that this process holds, in the order of their arrival. */
  const held = new Set<InboxMessage>();
  /** When the work on an event ended, or an event came while none was held. */
  let movedAtMs = 0;
  /** Whether few events are taken at a time, and whether one of them was stored soon. */
  let isCareful = false;
  let isQuick = false;
  /** Messages whose event could not be stored at the last try. */
  const failed = new WeakSet<IncomingMessage>();
  /** Events that PostgreSQL could not store in time. They are tried again after a pause, and are kept from the others. */
  const oversized = new WeakSet<IncomingMessage>();

  const store = (each: InboxMessage) => (oversized.has(each.message) ? alone : together).add(each);
  const { read, storeBatch } = createStoring(
    { ...parts, again: store, oversized: ({ message }) => oversized.add(message) },
    { windowMs, eventTypes },
  );
  const together = batchesByTurns(
    (batch) => storeBatch(batch, (items) => arrival.storing(batch, () => fanOut.together(items))),
    { maxItems: batchSize, gathers: true },
  );
  // It may take long, and says nothing about PostgreSQL: others are handed over on arrival meanwhile.
  const storeAlone = (items: readonly FanOutItem[]) => fanOut.alone(items[0] as FanOutItem);
  const alone = batchesByTurns((batch) => storeBatch(batch, storeAlone), { maxItems: 1, isApart: false });
  const arrival = createArrival({ ...parts, read, store: together.add });

  /** Resolves when the work on the event is done. @throws if it can't be stored now */
  async function handle(message: IncomingMessage): Promise<void> {
    if (isProbe(message.headers, message.content)) return message.ack();
    // An event that may have come before is stored first. So is one of a flood: its endpoints have more events than they can be sent at once.
    const mayBeHandedOver = isFirstQueue.has(message.queue) && !message.redelivered && !failed.has(message);
    await new Promise<void>((resolve, reject) => {
      const each: InboxMessage = {
        message,
        organization: organizationOf(message.content),
        arrivedAt: clock.now(),
        arrivedAtMs: clock.monotonicMs(),
        done: () => {
          movedAtMs = clock.monotonicMs();
          isQuick = movedAtMs - each.arrivedAtMs < restMs;
          over(each);
          message.ack();
          resolve();
        },
        failed: (error) => {
          over(each);
          failed.add(message);
          reject(error);
        },
      };
      if (held.size === 0) movedAtMs = each.arrivedAtMs;
      held.add(each);
      if (floods.came(each)) void floods.look();
      if (mayBeHandedOver && arrival.isSmall(each)) arrival.add(each);
      else store(each);
    });
  }

  function over(each: InboxMessage): void {
    if (held.delete(each)) floods.over(each);
    arrival.over(each);
  }

  /** Drops the waiting events: the broker delivers their messages again on another channel. Running batches are stored. */
  function dropWaiting(): void {
    for (const each of [...arrival.drop(), ...together.drop(), ...alone.drop()]) {
      each.span?.end({ errorType: "channel_lost", error: "its channel has ended" });
      each.done();
    }
    isQuick = false;
  }

  const looking = setInterval(floods.look, LOOK_MS);
  const consume = (prefetch: number) =>
    broker.consumeEvents({ queue: eventQueues, prefetch, maxBytes: inboxBytes, handle, lost: dropWaiting });
  let consumer = consume(PREFETCH);

  function oldestAgeMs(): number {
    const [oldest] = held;
    return oldest === undefined ? 0 : clock.monotonicMs() - oldest.arrivedAtMs;
  }

  const isStill = () =>
    consumer.restingMs() >= restMs || (together.isRunning() && clock.monotonicMs() - movedAtMs >= nothingStoredMs);

  /**
   * Gives all events back if none can be stored. Then RabbitMQ counts one delivery of each for the whole outage, and another publisher gets them.
   * Else it would count one more whenever it closes a connection that is not read, or a channel that holds a message for 30 minutes; and it takes
   * an event out of the inbox that was delivered too often.
   *
   * Events are taken again when the running batch has ended, so not before PostgreSQL answers. If PostgreSQL is slow, they are taken few at a time,
   * so that the connection does not rest: else all that RabbitMQ sends in advance would go back again and again.
   */
  async function watch(signal: AbortSignal): Promise<void> {
    if (isCareful && isQuick) {
      isCareful = false;
      await consumer.close();
      if (!signal.aborted) consumer = consume(PREFETCH);
    } else if (isStill()) {
      log.error("events can't be stored for long; they go back to RabbitMQ until PostgreSQL takes some again");
      await consumer.close({ drainTimeoutMs: 0 });
      if (!signal.aborted) await Promise.race([together.idle(), once(signal, "abort")]);
      if (signal.aborted) return;
      log.info("events are taken again");
      isCareful = true;
      isQuick = false;
      consumer = consume(CAREFUL_PREFETCH);
    }
  }

  const watching = repeat(watch, {
    intervalMs: WATCH_MS,
    onFailure: (error) => log.error("events that wait for long can't be given back", { error }),
  });

  return {
    oldestAgeSeconds: () => oldestAgeMs() / 1_000,
    restingMs: () => consumer.restingMs(),
    async close(options) {
      await watching.stop();
      await consumer.close(options);
      clearInterval(looking);
      await inspector.close();
    },
  };
}
