import type { Broker, Consumer, IncomingMessage } from "@herald/common/broker/broker";
import { isProbe } from "@herald/common/broker/topology";
import type { EventTypeRules } from "@herald/contracts";
import { createArrival } from "../arrival/arrival.ts";
import { fairBatches } from "../event/fair-batches.ts";
import type { FanOut, FanOutItem } from "../event/fan-out.ts";
import { type InboxMessage, organizationOf } from "../event/read-event.ts";
import { watchFloods } from "./floods.ts";
import { type GiveBackOptions, PREFETCH, takeOrGiveBack } from "./give-back.ts";
import { createStoring, type StoringParts } from "./store-batch.ts";

export interface ConsumeOptions extends GiveBackOptions {
  /** Bytes of messages that this process may hold. */
  inboxBytes: number;
  batchSize: number;
  /** How far back events are delivered (SPEC 6.1: seven days), in milliseconds. */
  windowMs: number;
  eventTypes: EventTypeRules;
}

/** Also says how long the oldest held event has waited; 0 without one. */
export type EventsConsumer = Consumer & { oldestAgeSeconds(): number };

/** A sixteenth of a bucket has a flood if it takes this share of the places in a queue, or of the bytes. Its neighbours have the rest. */
const FLOOD_SHARE = 1 / 2;

/** How often to look for floods that have ended; one that begins is looked at at once. */
const LOOK_MS = 1_000;

/**
 * Takes business events from the inbox queues. A message is acknowledged when its event is stored with all its deliveries, or is in the rejected
 * queue with its notice in PostgreSQL, or needs no work. To store an event twice changes nothing.
 */
export function consumeEvents(
  parts: Omit<StoringParts, "again" | "oversized"> & { broker: Broker; fanOut: FanOut },
  { inboxBytes, batchSize, windowMs, eventTypes, ...giveBack }: ConsumeOptions,
): EventsConsumer {
  const { broker, names, fanOut, clock } = parts;
  const { inboxQueues, eventQueues } = names;
  const isFirstQueue = new Set(inboxQueues);
  const inspector = broker.inspector();
  const floods = watchFloods(
    { ...parts, inspector },
    { most: FLOOD_SHARE * PREFETCH, mostBytes: FLOOD_SHARE * inboxBytes },
  );
  /** The events that this process holds, in the order of their arrival. */
  const held = new Set<InboxMessage>();
  /** Messages whose event could not be stored at the last try. */
  const failed = new WeakSet<IncomingMessage>();
  /** Events that PostgreSQL could not store in time. They are tried again after a pause, and are kept from the others. */
  const oversized = new WeakSet<IncomingMessage>();

  const store = (each: InboxMessage) => (oversized.has(each.message) ? alone : together).add(each);
  const { read, storeBatch } = createStoring(
    { ...parts, again: store, oversized: ({ message }) => oversized.add(message) },
    { windowMs, eventTypes },
  );
  const together = fairBatches((batch) => storeBatch(batch, (items) => arrival.storing(() => fanOut.together(items))), {
    maxItems: batchSize,
    gathers: true,
  });
  // It may take long, and says nothing about PostgreSQL: others are handed over on arrival.
  const storeAlone = (items: readonly FanOutItem[]) => fanOut.alone(items[0] as FanOutItem);
  const alone = fairBatches((batch) => storeBatch(batch, storeAlone), { maxItems: 1, isApart: false });
  const arrival = createArrival({ ...parts, read, store: together.add });

  /** Resolves when the work on the event is done. @throws if it can't be stored now */
  async function handle(message: IncomingMessage): Promise<void> {
    if (isProbe(message.headers, message.content)) return message.ack();
    // An event that may have come before is stored first. So is one of a flood: its endpoints have more events than they can be sent at once.
    const mayBeHandedOver = isFirstQueue.has(message.queue) && !message.redelivered && !failed.has(message);
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        over(each);
        message.ack();
        resolve();
      };
      const each: InboxMessage = {
        message,
        organization: organizationOf(message.content),
        arrivedAt: clock.now(),
        arrivedAtMs: clock.monotonicMs(),
        done: () => {
          taken.ended(each.arrivedAtMs);
          end();
        },
        dropped: end,
        failed: (error) => {
          over(each);
          failed.add(message);
          reject(error);
        },
      };
      if (held.size === 0) taken.began();
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
      each.dropped();
    }
  }

  const looking = setInterval(floods.look, LOOK_MS);
  const consume = (prefetch: number) =>
    broker.consumeEvents({ queue: eventQueues, prefetch, maxBytes: inboxBytes, handle, lost: dropWaiting });
  const taken = takeOrGiveBack({ ...parts, consume, running: together }, giveBack);

  return {
    oldestAgeSeconds() {
      const [oldest] = held;
      return oldest === undefined ? 0 : (clock.monotonicMs() - oldest.arrivedAtMs) / 1_000;
    },
    restingMs: taken.restingMs,
    async close(options) {
      await taken.close(options);
      clearInterval(looking);
      await inspector.close();
    },
  };
}
