import { setMaxListeners } from "node:events";
import type { ConsumeMessage, MessageProperties } from "amqplib";
import { backoffMs } from "./backoff.ts";
import { endsWithin, pause } from "./deadline.ts";
import { type Home, keepChannel } from "./kept-channel.ts";
import type { BrokerLog } from "./outages.ts";
import type { Reply } from "./replier.ts";
import { type Settlements, settleOn } from "./settlements.ts";
import { declareTopology } from "./topology.ts";

/**
 * A message to be settled once, by `ack`, `requeue` or `reject`, now or later, in any order. Settling twice, or after the
 * channel has died, does nothing: the broker delivers again what was not acknowledged.
 */
export interface IncomingMessage {
  readonly content: Buffer;
  readonly routingKey: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly properties: MessageProperties;
  /** It may have been handled before. */
  readonly redelivered: boolean;
  /** Done. */
  ack(): void;
  /** Back to its queue, to be delivered again at once, to anybody. Counts towards the queue's delivery limit. */
  requeue(): void;
  /** Out of its queue: to where the queue dead-letters, else dropped. */
  reject(): void;
  /** Answers a request (see `Requester`). May get lost, and never throws: whoever asked has a timeout. */
  reply(content: Buffer): void;
}

export interface ConsumerOptions {
  queue: string;
  /** How many messages may be unsettled at once. Quorum queues are at their best from about 250. */
  prefetch: number;
  /**
   * Gets each message. To throw or reject means "not now": the message is kept, and handed over again after a pause that
   * grows up to half a minute. A message that can never be handled is to be settled, by `reject` for instance.
   */
  handle(message: IncomingMessage): void | Promise<void>;
}

export interface Consumer {
  /**
   * Takes no more messages, waits until those that were handed out are settled, but not longer than this, and leaves the
   * rest to the queue.
   *
   * @param options.drainTimeoutMs 10 s unless said otherwise
   */
  close(options?: { drainTimeoutMs?: number }): Promise<void>;
}

const DRAIN_TIMEOUT_MS = 10_000;
/** Between two tries of a handler with the same message. */
const RETRY_BACKOFF = { firstMs: 100, longestMs: 30_000 };
/** How long a message is tried before it goes back to its queue; RabbitMQ closes a channel that holds one for 30 minutes. */
const HOLD_MS = 20 * 60_000;

/** A consumer that owns its channel and sets it up again after each of its deaths, a cancellation included. */
export function startConsumer(
  { queue, prefetch, handle }: ConsumerOptions,
  { home, namespace, reply, log }: { home: Home; namespace: string; reply: Reply; log: BrokerLog },
): Consumer {
  let settlements: Settlements | undefined;
  /** Ends the pauses of messages that nobody can or wants to handle again on this channel. */
  let retries = new AbortController();
  /** Since a handler last worked. */
  let handlerFailures = 0;
  let stopConsuming: () => Promise<unknown> = async () => undefined;
  let closing = false;

  const kept = keepChannel(
    {
      purpose: `consumer of ${queue}`,
      open: home.connection.openChannel,
      setUp: async (channel, lose) => {
        await declareTopology(channel, namespace);
        await channel.prefetch(prefetch);
        const own = settleOn(channel);
        settlements = own;
        retries = new AbortController();
        const { signal } = retries;
        // One listener for each message that waits; Node would warn of a leak from eleven on.
        setMaxListeners(0, signal);
        const { consumerTag } = await channel.consume(queue, (delivery) => {
          if (delivery === null) return lose(new Error(`the broker cancelled the consumer: ${queue} is gone`));
          own.add(delivery);
          // Prefetched on the wire while the cancellation was on its way.
          if (closing) own.requeue(delivery);
          else void pass(delivery, own, signal);
        });
        stopConsuming = () => channel.cancel(consumerTag);
      },
      lost: () => {
        settlements?.abandon();
        retries.abort();
      },
    },
    home,
  );

  /**
   * Calls the handler until it does not throw. Requeueing instead would bring the message back at once, and reach the queue's
   * delivery limit within milliseconds: a database that is away for a second would empty the inbox into the rejected queue.
   * (And a throw that got through to amqplib would close the channel, with every other message on it.)
   */
  async function pass(delivery: ConsumeMessage, own: Settlements, gone: AbortSignal): Promise<void> {
    const message = incoming(delivery, own);
    const giveBackAt = performance.now() + HOLD_MS;
    for (let failures = 1; own.isUnsettled(delivery); failures++) {
      try {
        await handle(message);
        handlerWorked();
        return;
      } catch (error) {
        handlerFailed(error);
      }
      const pauseMs = backoffMs(failures, RETRY_BACKOFF);
      if (gone.aborted || performance.now() + pauseMs > giveBackAt) break;
      await pause(pauseMs, gone);
      if (gone.aborted) break;
    }
    message.requeue();
  }

  function handlerFailed(error: unknown): void {
    handlerFailures++;
    if (handlerFailures > 1) log.debug("broker: a handler still fails", { queue, error });
    else log.error("broker: a handler failed; it gets its message again after a pause", { queue, error });
  }

  function handlerWorked(): void {
    if (handlerFailures === 0) return;
    log.info("broker: a handler works again", { queue, failures: handlerFailures });
    handlerFailures = 0;
  }

  function incoming(delivery: ConsumeMessage, own: Settlements): IncomingMessage {
    const { content, fields, properties } = delivery;
    return {
      content,
      properties,
      routingKey: fields.routingKey,
      headers: properties.headers ?? {},
      redelivered: fields.redelivered,
      ack: () => own.ack(delivery),
      requeue: () => own.requeue(delivery),
      reject: () => own.reject(delivery),
      reply: (answer) => reply(properties, answer),
    };
  }

  async function drain(): Promise<void> {
    await stopConsuming();
    await settlements?.drained();
  }

  return {
    close: async ({ drainTimeoutMs = DRAIN_TIMEOUT_MS } = {}) => {
      closing = true;
      retries.abort();
      await kept.close(async () => {
        const inTime = await endsWithin(drainTimeoutMs, drain());
        if (!inTime) log.warn("broker: closed a consumer with messages unsettled; they go back", { queue });
      });
    },
  };
}
