import type { Channel, Options } from "amqplib";

/**
 * An event's routing key has three words: its type, with hyphens for dots, and the first two hexadecimal digits of its organization's hash, as in
 * "order-paid.3.f". The first digit is the bucket. So a flood of one organization fills only the queues of one bucket.
 * The second digit divides the bucket into sixteenths: publishers turn a flooding one to the second queue of the bucket.
 */
const BUCKETS: readonly string[] = [..."0123456789abcdef"];

export type Names = ReturnType<typeof names>;

/** The exchanges and queues of one Herald. @param namespace first part of every name, "herald" unless several Heralds share a broker */
export function names(namespace: string) {
  const inboxQueues: readonly string[] = BUCKETS.map((bucket) => `${namespace}.events.inbox.${bucket}`);
  const behindQueues: readonly string[] = inboxQueues.map((queue) => `${queue}.behind`);
  const deadLetterQueue = `${namespace}.events.dead-letters`;
  const eventQueues: readonly string[] = [...inboxQueues, ...behindQueues, deadLetterQueue];
  return {
    /**
     * The exchange to which product services publish business events. It passes all of them on to the exchange of floods: as a fanout exchange, since
     * the binding "#" of a topic exchange cost the broker a third more for each event.
     */
    eventsExchange: `${namespace}.events`,
    /**
     * Topic exchange that takes the events of turned sixteenths to the second queues. It has a binding for each of these and no other one, and passes
     * all other events on to the inbox exchange. Internal: no contract.
     */
    floodsExchange: `${namespace}.events.floods`,
    /** Topic exchange that takes events to the inbox queues by their bucket. Its bindings never change. Internal: no contract. */
    inboxExchange: `${namespace}.events.inbox`,
    /** The business events, for the publisher: a queue for each bucket of organizations, in the order of the buckets. Internal: no contract. */
    inboxQueues,
    /** The second queue of each bucket, in the order of `inboxQueues`: for floods. */
    behindQueues,
    /** Where RabbitMQ moves an event that expired in the inbox, or came back too often: a publisher rejects it, with a notice. */
    deadLetterQueue,
    /** All queues from which publishers take business events. */
    eventQueues,
    /** Events that break the contract, with the reason in a header. Operators' programs read it by this name. */
    rejectedQueue: `${namespace}.events.rejected`,
    /**
     * Direct exchange by which publishers hand deliveries over to dispatchers; the key is the id of the dispatcher's process. Only
     * publishers' user may write to it: a dispatcher takes what it signs and sends from nowhere else.
     */
    dispatchExchange: `${namespace}.dispatch`,
    /** Direct exchange by which the management API reaches dispatchers, by the same key; only its user may write to it. */
    requestsExchange: `${namespace}.requests`,
    /** The topic exchange of notices, which the product may pass on to an organization's admins. */
    noticesExchange: `${namespace}.notices`,
  };
}

/** A message that is no event: `herald doctor` sends it through the inbox, and a publisher drops it. */
export const PROBE = { headers: { "x-herald-probe": "doctor" }, content: Buffer.from("herald doctor") };

/** An event may have the header as well: a product service may pass on all headers of what it got. */
export function isProbe(headers: Readonly<Record<string, unknown>> | undefined, content: Buffer): boolean {
  return headers?.["x-herald-probe"] !== undefined && content.equals(PROBE.content);
}

/**
 * How often a message may come back before the broker takes it out of its queue. This is RabbitMQ 4's default; RabbitMQ 3
 * has none, and a message that ends its consumer would come back for ever. A requeue counts, and so does the death of a
 * channel that held the message, on both. So a publisher that can't work gives its messages back once, and takes none.
 */
const DELIVERY_LIMIT = 20;

/** The reason of an event that reached {@link DELIVERY_LIMIT}. */
export const CAME_TOO_OFTEN =
  "it came back to the inbox too often: publishers ended, or lost their connection, while they held it";

/** A delivery limit that is never reached. RabbitMQ 4 has -1 for no limit, which RabbitMQ 3 refuses. */
const NO_DELIVERY_LIMIT = 1_000_000_000;

/** The most bytes that wait in the queue of a dispatcher that stands still. */
const MAX_HANDED_OVER_BYTES = 64 * 1024 ** 2;

/** The most that waits in one inbox queue. Beyond it the broker refuses events of these organizations alone, and their emitters keep them. */
const MAX_INBOX_BYTES = 1024 ** 3;

/** The service whose part of the topology a process declares: where each service has its own broker user, it may declare no more. */
export type Side = "management-api" | "publisher" | "dispatcher";

/**
 * Declares what a service sends to and reads from, except the queues of dispatchers, and leaves alone what is there already. Every channel runs
 * this before it works, so the order in which services start, and a queue that was deleted, do not matter.
 * @param side of all three if absent
 * @throws if an exchange or a queue exists with other arguments (406). These can't be changed in place: the queue has
 * to be emptied and deleted by hand.
 */
export async function declareTopology(channel: Channel, namespace: string, side?: Side): Promise<void> {
  const own = names(namespace);
  if (side !== "publisher") await channel.assertExchange(own.requestsExchange, "direct", { durable: true });
  if (side !== "management-api") await channel.assertExchange(own.dispatchExchange, "direct", { durable: true });
  if (side === undefined || side === "publisher") await declareEvents(channel, own);
}

async function declareEvents(channel: Channel, own: Names): Promise<void> {
  const { eventsExchange, floodsExchange, inboxExchange } = own;
  await channel.assertExchange(own.noticesExchange, "topic", { durable: true });
  // The last place of an event: a program that reads it may requeue it any number of times.
  await channel.assertQueue(own.rejectedQueue, quorum({ "x-delivery-limit": NO_DELIVERY_LIMIT }));
  await channel.assertQueue(own.deadLetterQueue, eventQueue(own.rejectedQueue));
  await channel.assertExchange(inboxExchange, "topic", { durable: true });
  for (const [index, queue] of own.inboxQueues.entries()) {
    await channel.assertQueue(queue, eventQueue(own.deadLetterQueue));
    await channel.bindQueue(queue, inboxExchange, `*.${BUCKETS[index]}.#`);
    // An emitter that knows no buckets names the type alone.
    if (index === 0) await channel.bindQueue(queue, inboxExchange, "*");
  }
  for (const queue of own.behindQueues) await channel.assertQueue(queue, eventQueue(own.deadLetterQueue));
  // Emitters do not publish to the exchange of floods: a queue that an operator binds there, to read along, would take events away from Herald.
  await channel.assertExchange(floodsExchange, "topic", { durable: true, alternateExchange: inboxExchange });
  await channel.assertExchange(eventsExchange, "fanout", { durable: true });
  await channel.bindExchange(floodsExchange, eventsExchange, "");
}

export function ownerQueueOf(namespace: string, ownerId: string): string {
  return `${namespace}.dispatch.${ownerId}`;
}

/**
 * Declares the queue of one dispatcher, which ends with its connection. What it loses is in PostgreSQL, where the shards' owners look
 * every few seconds. So it is kept in memory only, and the oldest message is dropped if too much waits.
 */
export async function declareOwnerQueue(channel: Channel, namespace: string, ownerId: string): Promise<void> {
  const { dispatchExchange, requestsExchange } = names(namespace);
  const queue = ownerQueueOf(namespace, ownerId);
  await channel.assertExchange(dispatchExchange, "direct", { durable: true });
  await channel.assertExchange(requestsExchange, "direct", { durable: true });
  await channel.assertQueue(queue, {
    exclusive: true,
    durable: false,
    // The type is said, since an operator may have made another one the default of the virtual host.
    arguments: { "x-queue-type": "classic", "x-max-length-bytes": MAX_HANDED_OVER_BYTES, "x-overflow": "drop-head" },
  });
  await channel.bindQueue(queue, dispatchExchange, ownerId);
  await channel.bindQueue(queue, requestsExchange, ownerId);
}

/**
 * An event leaves the inbox stored or rejected, never otherwise. At-least-once dead-lettering confirms the move to the
 * next queue before this one lets go; RabbitMQ falls back to dead-lettering without confirms, and does not say so,
 * unless `x-overflow` is `reject-publish`.
 */
function eventQueue(next: string): Options.AssertQueue {
  return quorum({
    "x-delivery-limit": DELIVERY_LIMIT,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": next,
    "x-dead-letter-strategy": "at-least-once",
    "x-overflow": "reject-publish",
    "x-max-length-bytes": MAX_INBOX_BYTES,
    // Else all of them would be led by the node that declares them.
    "x-queue-leader-locator": "balanced",
  });
}

function quorum(queueArguments: Record<string, unknown>): Options.AssertQueue {
  return { durable: true, arguments: { "x-queue-type": "quorum", ...queueArguments } };
}
