import type { Channel, Options } from "amqplib";
import { BUCKETS, bucketOf, type Cell, WHOLE } from "./cell.ts";

/** The exchanges and queues of one Herald. */
export interface Names {
  /** Topic exchange that product services publish business events to, by event type. */
  eventsExchange: string;
  /**
   * The business events, for the publisher: a queue for each bucket of organizations that this Herald serves, in the order of
   * the buckets. Internal: their names are no contract.
   */
  inboxQueues: readonly string[];
  /** The second queue of each bucket, in the order of `inboxQueues`: publishers move a flood's events there. */
  behindQueues: readonly string[];
  /** Events that break the contract, with the reason in a header. Operators' programs read it by this name. */
  rejectedQueue: string;
  /**
   * Direct exchange by which publishers reach dispatchers; a queue's name is its key. Only publishers' and dispatchers' users may write
   * to it: a dispatcher takes a hint, which it signs and sends, from nowhere else.
   */
  dispatchExchange: string;
  /** Direct exchange by which the management API sends requests to dispatchers; only its user may write to it. */
  requestsExchange: string;
  /** Hints: the endpoints that have work. */
  hintsQueue: string;
  /** Requests for the first attempt of a manual delivery, for which an API request waits. */
  manualQueue: string;
  /** The topic exchange of notices, which the product may pass on to an organization's admins. */
  noticesExchange: string;
}

/**
 * @param namespace first part of every name, "herald" unless several Heralds share a broker
 * @param cell which of the Heralds that share this namespace's events; hints and manual requests are for its own dispatchers
 */
export function names(namespace: string, cell: Cell = WHOLE): Names {
  const inboxQueues = cell.buckets.map((bucket) => inboxQueueOf(namespace, bucket));
  const dispatch = cell.name === undefined ? `${namespace}.dispatch` : `${namespace}.dispatch.${cell.name}`;
  return {
    eventsExchange: `${namespace}.events`,
    inboxQueues,
    behindQueues: inboxQueues.map(behindQueueOf),
    rejectedQueue: `${namespace}.events.rejected`,
    dispatchExchange: `${namespace}.dispatch`,
    requestsExchange: `${namespace}.requests`,
    hintsQueue: `${dispatch}.hints`,
    manualQueue: `${dispatch}.manual`,
    noticesExchange: `${namespace}.notices`,
  };
}

function inboxQueueOf(namespace: string, bucket: string): string {
  return `${namespace}.events.inbox.${bucket}`;
}

/** The second queue of the bucket of an inbox queue. Nothing binds it to an exchange. */
export function behindQueueOf(inboxQueue: string): string {
  return `${inboxQueue}.behind`;
}

/** The inbox queue of an organization that another cell serves; undefined where this one does. */
export function foreignInboxOf(namespace: string, { buckets }: Cell, organizationId: string): string | undefined {
  if (buckets.length === BUCKETS.length) return undefined;
  const bucket = bucketOf(organizationId);
  return buckets.includes(bucket) ? undefined : inboxQueueOf(namespace, bucket);
}

/**
 * How often a message may come back before the broker takes it out of its queue. This is RabbitMQ 4's default; RabbitMQ 3
 * has none, and a message that ends its consumer would come back for ever. A requeue counts, and so does the death of a
 * channel that held the message, on both. So a consumer that can't work keeps its messages and waits.
 */
const DELIVERY_LIMIT = 20;

/** A delivery limit that is never reached. RabbitMQ 4 has -1 for no limit, which RabbitMQ 3 refuses. */
const NO_DELIVERY_LIMIT = 1_000_000_000;

/** Hints that may wait: each names an endpoint, and the due scan finds the others. */
const MAX_WAITING_HINTS = 20_000;

/** Requests for manual deliveries that may wait. */
const MAX_WAITING_REQUESTS = 10_000;

/** What may wait in one inbox queue. Beyond it the broker refuses events of these organizations alone, and their emitters keep them. */
const MAX_INBOX_BYTES = 1024 ** 3;

/** The service whose part of the topology a process declares: where each service has its own broker user, it may declare no more. */
export type Side = "management-api" | "publisher" | "dispatcher";

/**
 * Declares what a service sends to and reads from, except the queue of hints, and leaves alone what is there already. Every channel runs
 * this before it works, so the order in which services start, and a queue that was deleted, do not matter.
 *
 * @param side of all three where absent
 * @throws where an exchange or a queue exists with other arguments (406). These can't be changed in place: the queue has
 * to be emptied and deleted by hand.
 */
export async function declareTopology(
  channel: Channel,
  namespace: string,
  cell: Cell = WHOLE,
  side?: Side,
): Promise<void> {
  const own = names(namespace, cell);
  if (side !== "publisher") await channel.assertExchange(own.requestsExchange, "direct", { durable: true });
  if (side !== "management-api") await channel.assertExchange(own.dispatchExchange, "direct", { durable: true });
  if (side === undefined || side === "dispatcher") {
    await channel.assertQueue(own.manualQueue, manualQueue());
    await channel.bindQueue(own.manualQueue, own.requestsExchange, own.manualQueue);
  }
  if (side === undefined || side === "publisher") await declareEvents(channel, namespace, own);
}

/** With the inbox queues of all cells: an event must find the queues of its bucket, whichever cell has it. */
async function declareEvents(channel: Channel, namespace: string, own: Names): Promise<void> {
  await channel.assertExchange(own.eventsExchange, "topic", { durable: true });
  await channel.assertExchange(own.noticesExchange, "topic", { durable: true });
  await channel.assertQueue(own.rejectedQueue, rejectedQueue());
  for (const bucket of BUCKETS) {
    const queue = inboxQueueOf(namespace, bucket);
    await channel.assertQueue(queue, inboxQueue(own.rejectedQueue));
    await channel.assertQueue(behindQueueOf(queue), inboxQueue(own.rejectedQueue));
    await channel.bindQueue(queue, own.eventsExchange, `*.${bucket}.#`);
    // An emitter that knows no buckets names the type alone.
    if (bucket === BUCKETS[0]) await channel.bindQueue(queue, own.eventsExchange, "*");
  }
}

/**
 * Declares the queue of hints. Only dispatchers, which consume it, call this. The queue lives on one node of a cluster. While that node is away the broker
 * refuses to declare it (404), which must stop nothing else: the due scan finds what no hint announced.
 */
export async function declareHints(channel: Channel, namespace: string, cell: Cell = WHOLE): Promise<void> {
  const { hintsQueue: queue, dispatchExchange } = names(namespace, cell);
  await channel.assertExchange(dispatchExchange, "direct", { durable: true });
  await channel.assertQueue(queue, hintsQueue());
  await channel.bindQueue(queue, dispatchExchange, queue);
}

/** Every queue, and as what it is declared. One that exists with other arguments is refused (406). */
export function declaredQueues(
  namespace: string,
  cell: Cell = WHOLE,
): { queue: string; options: Options.AssertQueue }[] {
  const own = names(namespace, cell);
  const { inboxQueues, behindQueues } = names(namespace);
  return [
    ...[...inboxQueues, ...behindQueues].map((queue) => ({ queue, options: inboxQueue(own.rejectedQueue) })),
    { queue: own.rejectedQueue, options: rejectedQueue() },
    { queue: own.hintsQueue, options: hintsQueue() },
    { queue: own.manualQueue, options: manualQueue() },
  ];
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
    "x-max-length-bytes": MAX_INBOX_BYTES,
    // Else all of them would be led by the node that declares them.
    "x-queue-leader-locator": "balanced",
  });
}

/** The last place of an event: a program that reads it may requeue it any number of times without RabbitMQ dropping it. */
function rejectedQueue(): Options.AssertQueue {
  return quorum({ "x-delivery-limit": NO_DELIVERY_LIMIT });
}

/**
 * Hints may be lost: PostgreSQL knows each delivery that is due, and the due scan finds within seconds what no hint announced.
 * So they are kept in memory only, and the oldest are dropped where too many wait: while no dispatcher runs, hints must not
 * fill the broker. The queue itself is durable, since RabbitMQ 4 refuses transient queues that several consumers share.
 */
function hintsQueue(): Options.AssertQueue {
  return {
    durable: true,
    // Said, since an operator may have made another type the default of the virtual host.
    arguments: { "x-queue-type": "classic", "x-max-length": MAX_WAITING_HINTS, "x-overflow": "drop-head" },
  };
}

/** A request expires when its time is over: the API has answered by then, and the due scan finds the delivery. */
function manualQueue(): Options.AssertQueue {
  return quorum({
    "x-delivery-limit": DELIVERY_LIMIT,
    "x-max-length": MAX_WAITING_REQUESTS,
    "x-overflow": "drop-head",
  });
}

function quorum(queueArguments: Record<string, unknown>): Options.AssertQueue {
  return { durable: true, arguments: { "x-queue-type": "quorum", ...queueArguments } };
}
