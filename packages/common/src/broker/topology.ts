import type { Channel, Options } from "amqplib";

/** The exchanges and queues of one Herald. */
export interface Names {
  /** Topic exchange that product services publish business events to, by event type. */
  eventsExchange: string;
  /** Every business event, for the publisher. Internal: its name is no contract. */
  inboxQueue: string;
  /** Events that break the contract, with the reason in a header. Operators' programs read it by this name. */
  rejectedQueue: string;
  /** Hints of automatic deliveries that are due for their first attempt. */
  firstHintsQueue: string;
  /** Hints of manual deliveries, for whose first attempt an API request waits. */
  manualHintsQueue: string;
  /** Topic exchange of what the product may want to tell an organization's admins. */
  noticesExchange: string;
}

/** @param namespace first part of every name, "herald" unless several Heralds share a broker */
export function names(namespace: string): Names {
  return {
    eventsExchange: `${namespace}.events`,
    inboxQueue: `${namespace}.events.inbox`,
    rejectedQueue: `${namespace}.events.rejected`,
    firstHintsQueue: `${namespace}.dispatch.first`,
    manualHintsQueue: `${namespace}.dispatch.manual`,
    noticesExchange: `${namespace}.notices`,
  };
}

/**
 * How often a message may come back before the broker takes it out of its queue. This is RabbitMQ 4's default; RabbitMQ 3
 * has none, and a message that ends its consumer would come back for ever. A requeue counts, and on RabbitMQ 3 so does the
 * death of a channel that held the message. So a consumer that can't work keeps its messages and waits.
 */
const DELIVERY_LIMIT = 20;

/** In effect none. RabbitMQ 4 takes -1 for that, RabbitMQ 3 refuses it. */
const NO_DELIVERY_LIMIT = 1_000_000_000;

/** Hints that may wait. A million of them take about 200 MB of the broker's disk. */
const MAX_WAITING_HINTS = 1_000_000;

/**
 * Declares everything that {@link names} names, and leaves alone what is there already. Every channel runs this before
 * it works, so the order in which services start, and a queue that was deleted, do not matter.
 *
 * @throws where an exchange or a queue exists with other arguments (406). These can't be changed in place: the queue has
 * to be emptied and deleted by hand.
 */
export async function declareTopology(channel: Channel, namespace: string): Promise<void> {
  const own = names(namespace);
  await channel.assertExchange(own.eventsExchange, "topic", { durable: true });
  await channel.assertExchange(own.noticesExchange, "topic", { durable: true });
  await channel.assertQueue(own.rejectedQueue, rejectedQueue());
  await channel.assertQueue(own.inboxQueue, inboxQueue(own.rejectedQueue));
  await channel.bindQueue(own.inboxQueue, own.eventsExchange, "#");
  await channel.assertQueue(own.firstHintsQueue, hintQueue());
  await channel.assertQueue(own.manualHintsQueue, hintQueue());
}

/**
 * An event leaves the inbox stored or rejected, never otherwise. At-least-once dead-lettering confirms the move to the
 * rejected queue before the inbox lets go; RabbitMQ falls back to dead-lettering without confirms, and does not say so,
 * unless `x-overflow` is `reject-publish`.
 */
function inboxQueue(rejected: string): Options.AssertQueue {
  return quorum({
    "x-delivery-limit": DELIVERY_LIMIT,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": rejected,
    "x-dead-letter-strategy": "at-least-once",
    "x-overflow": "reject-publish",
  });
}

/** The last place of an event: a program that reads it may requeue it any number of times without RabbitMQ dropping it. */
function rejectedQueue(): Options.AssertQueue {
  return quorum({ "x-delivery-limit": NO_DELIVERY_LIMIT });
}

/**
 * Hints may be lost: PostgreSQL knows each delivery that is due, and the due scan finds in half a minute what no hint
 * announced. So there is no dead-lettering: a hint that reached the delivery limit is dropped, and so are the oldest where
 * too many wait (those are the deliveries that the due scan takes first). Without that limit, hints would fill the broker's disk
 * while no dispatcher runs, and a full disk blocks every publisher.
 */
function hintQueue(): Options.AssertQueue {
  return quorum({
    "x-delivery-limit": DELIVERY_LIMIT,
    "x-max-length": MAX_WAITING_HINTS,
    "x-overflow": "drop-head",
  });
}

function quorum(queueArguments: Record<string, unknown>): Options.AssertQueue {
  return { durable: true, arguments: { "x-queue-type": "quorum", ...queueArguments } };
}
