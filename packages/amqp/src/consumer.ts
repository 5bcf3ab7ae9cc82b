import { setMaxListeners } from "node:events";
import type { Channel, ConsumeMessage, MessageProperties } from "amqplib";
import type { BrokerLog } from "./outages.ts";
import { type BrokerScope, maintainChannel } from "./recovering-channel.ts";
import { type Settlements, settleOn } from "./settlements.ts";
import { backoffMs, endsWithin, pause } from "./timing.ts";

/**
 * A message to be settled once, by `ack`, `requeue` or `reject`, now or later, in any order. Settling twice, or after the
 * channel has died, does nothing: the broker delivers again what was not acknowledged.
 */
export interface IncomingMessage {
  readonly content: Buffer;
  readonly queue: string;
  /** The exchange that the message was published to, as the broker says: "" if it was sent to the queue itself. */
  readonly exchange: string;
  readonly routingKey: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly properties: MessageProperties;
  /** True if the broker may have delivered the message before. */
  readonly redelivered: boolean;
  /** The message is done: the broker deletes it from its queue. */
  ack(): void;
  /** Gives the message back to its queue, which delivers it again at once, to any consumer. Counts towards the queue's delivery limit. */
  requeue(): void;
  /** Removes the message from its queue. The broker dead-letters it if the queue is set up for that, and else drops it. */
  reject(): void;
}

export interface ConsumerOptions {
  /** One queue, or several that share the consumer's channel. */
  queue: string | readonly string[];
  /** How many messages of each queue may be unsettled at once. Quorum queues are at their best from about 250. */
  prefetch: number;
  /**
   * How many bytes of unsettled messages it may hold, since a prefetch counts messages and no bytes. While it holds more, its connection is not
   * read, so the connection has to be its own. It may go past this by what one read brings, some 64 KiB, and a message. RabbitMQ closes a
   * connection that is not read for 30 s, which counts as a delivery of all that it had sent: close the consumer before (`restingMs`).
   */
  maxBytes?: number;
  /** Called when the channel has ended. Messages that were handed out and not settled are delivered again, on another channel. */
  lost?(): void;
  /**
   * Gets each message. To throw or reject means "not now": the message is kept, and handed over again after a pause that
   * grows up to half a minute. A message that can never be handled must be settled, by `reject` for instance.
   */
  handle(message: IncomingMessage): void | Promise<void>;
}

export interface Consumer {
  /** For how long the connection has not been read, since the consumer holds `maxBytes`; 0 while it is read. */
  restingMs(): number;
  /**
   * Takes no more messages, waits until those that were handed out are settled, and leaves the rest to the queue.
   *
   * @param options.drainTimeoutMs how long it waits at most; 10 s if absent
   */
  close(options?: { drainTimeoutMs?: number }): Promise<void>;
}

const DRAIN_TIMEOUT_MS = 10_000;
const NOTHING = Buffer.alloc(0);
/** This many acknowledgements are sent without waiting for more. */
const ENOUGH_ACKS = 125;
/** The pauses between two tries of a handler with the same message. */
const RETRY_BACKOFF = { firstMs: 100, longestMs: 30_000 };
/** How long a message is tried before it goes back to its queue; RabbitMQ closes a channel that holds one for 30 minutes. */
const HOLD_MS = 20 * 60_000;

/**
 * Consumes its queues on a channel of its own, and consumes them again after each end of the channel, a cancellation by the
 * broker included.
 *
 * @throws if the scope is closed
 */
export function startConsumer(
  scope: BrokerScope,
  { queue: wanted, prefetch, maxBytes, handle, lost }: ConsumerOptions,
  { log }: { log: BrokerLog },
): Consumer {
  const queues = typeof wanted === "string" ? [wanted] : wanted;
  const queue = queues.length === 1 ? `${queues[0]}` : `${queues[0]} and ${queues.length - 1} others`;
  let settlements: Settlements | undefined;
  /** Ends the pauses of messages whose next try on this channel is not wanted any more. */
  let retries = new AbortController();
  const handler = watchHandler(log, queue);
  let consumed: Channel | undefined;
  let closing = false;
  /** While consumers are cancelled, one after the other: messages that go back to their queues afterwards. */
  let late: ConsumeMessage[] | undefined;
  let drainTimeoutMs = DRAIN_TIMEOUT_MS;

  const channel = maintainChannel(scope, {
    purpose: `consumer of ${queue}`,
    open: scope.connection.openChannel,
    setUp: async (fresh, invalidate) => {
      if (closing) return;
      const own = settleOn(fresh, {
        // They are sent long before the broker has used up the prefetch, so that the broker never waits for them.
        enough: Math.min(ENOUGH_ACKS, Math.ceil(prefetch / 2)),
        // A consumer that ends reads on, since the broker's answer comes behind the messages.
        ...(maxBytes !== undefined && { onBytes: (bytes) => scope.connection.rest(!closing && bytes > maxBytes) }),
      });
      settlements = own;
      retries = new AbortController();
      const { signal } = retries;
      // One listener for each message that waits; Node would warn of a leak from eleven on.
      setMaxListeners(0, signal);
      consumed = fresh;
      const got = (name: string) => (delivery: ConsumeMessage | null) => {
        if (!delivery) return invalidate(new Error(`the broker cancelled the consumer: ${name} is gone`));
        if (!closing) {
          own.add(delivery);
          void pass(delivery, name, own, signal);
          return;
        }
        // The broker had sent it before it read the cancellation. It goes back, for which its content is not needed.
        const returned = { ...delivery, content: NOTHING };
        own.add(returned);
        giveBack(returned, own);
      };
      const [first, ...others] = queues.map((name) =>
        // A channel's prefetch holds for each consumer that starts after it was set. Requests are sent in the order of these calls.
        Promise.all([fresh.prefetch(prefetch), fresh.consume(name, got(name), { consumerTag: name })]),
      );
      // The broker answers for a queue behind the messages of the queues before it. If these are all that may be held, the answer is read later.
      Promise.all(others).catch(invalidate);
      await first;
    },
    lost: () => {
      settlements?.abandon();
      settlements = undefined;
      retries.abort();
      lost?.();
    },
    beforeClose: async () => {
      closing = true;
      scope.connection.rest(false);
      late = [];
      retries.abort();
      // Messages come, and are settled, while the channel is still being set up.
      if (settlements === undefined) return;
      const inTime = await endsWithin(drainTimeoutMs, drain());
      if (!inTime) log.warn("broker: closed a consumer with messages unsettled; they go back", { queue });
    },
  });

  /**
   * Gives a message back to its queue. A queue whose consumer is not cancelled yet would bring it back at once, and again, and reach the delivery
   * limit within milliseconds: it waits until all are cancelled.
   */
  function giveBack(delivery: ConsumeMessage, own: Settlements): void {
    if (late) late.push(delivery);
    else own.requeue(delivery);
  }

  /**
   * Calls the handler until it does not throw. Requeueing instead would bring the message back at once, and reach the queue's
   * delivery limit within milliseconds: while a database is away for a second, every message would be dead-lettered.
   * (A throw inside amqplib's callback would close the channel, with every other message on it.)
   */
  async function pass(
    delivery: ConsumeMessage,
    from: string,
    own: Settlements,
    channelEnd: AbortSignal,
  ): Promise<void> {
    const message = incoming(delivery, from, own);
    const giveBackAt = performance.now() + HOLD_MS;
    for (let failures = 1; own.isUnsettled(delivery); failures++) {
      try {
        await handle(message);
        handler.worked();
        return;
      } catch (error) {
        handler.failed(error);
      }
      const pauseMs = backoffMs(failures, RETRY_BACKOFF);
      if (channelEnd.aborted || performance.now() + pauseMs > giveBackAt) break;
      await pause(pauseMs, channelEnd);
      if (channelEnd.aborted) break;
    }
    message.requeue();
  }

  function incoming(delivery: ConsumeMessage, from: string, own: Settlements): IncomingMessage {
    const { content, fields, properties } = delivery;
    return {
      content,
      queue: from,
      properties,
      exchange: fields.exchange,
      routingKey: fields.routingKey,
      headers: properties.headers ?? {},
      redelivered: fields.redelivered,
      ack: () => own.ack(delivery),
      requeue: () => giveBack(delivery, own),
      reject: () => own.reject(delivery),
    };
  }

  async function drain(): Promise<void> {
    await Promise.all(queues.map((name) => consumed?.cancel(name)));
    const back = late ?? [];
    late = undefined;
    for (const delivery of back) settlements?.requeue(delivery);
    await settlements?.drained();
  }

  return {
    restingMs: scope.connection.restingMs,
    close: (options = {}) => {
      drainTimeoutMs = options.drainTimeoutMs ?? drainTimeoutMs;
      return channel.close();
    },
  };
}

/** Logs the first failure of a handler, and that it works again. */
function watchHandler(log: BrokerLog, queue: string) {
  let failures = 0;
  return {
    failed(error: unknown): void {
      failures++;
      if (failures > 1) log.debug("broker: a handler still fails", { queue, error });
      else log.error("broker: a handler failed; it gets its message again after a pause", { queue, error });
    },
    worked(): void {
      if (failures > 0) log.info("broker: a handler works again", { queue, failures });
      failures = 0;
    },
  };
}
