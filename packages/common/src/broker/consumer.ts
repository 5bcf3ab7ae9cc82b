import type { ConsumeMessage, MessageProperties } from "amqplib";
import { endsWithin } from "./deadline.ts";
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
  /** Gets each message. Where it throws or rejects, the message is requeued, and the error logged. */
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

/** A consumer that owns its channel and sets it up again after each of its deaths, a cancellation included. */
export function startConsumer(
  { queue, prefetch, handle }: ConsumerOptions,
  { home, namespace, reply, log }: { home: Home; namespace: string; reply: Reply; log: BrokerLog },
): Consumer {
  let settlements: Settlements | undefined;
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
        const { consumerTag } = await channel.consume(queue, (delivery) => {
          if (delivery === null) return lose(new Error(`the broker cancelled the consumer: ${queue} is gone`));
          own.add(delivery);
          // Prefetched on the wire while the cancellation was on its way.
          if (closing) own.requeue(delivery);
          else void pass(incoming(delivery, own));
        });
        stopConsuming = () => channel.cancel(consumerTag);
      },
      lost: () => settlements?.abandon(),
    },
    home,
  );

  /** A throw would reach amqplib, which would close the channel and take every other message with it. */
  async function pass(message: IncomingMessage): Promise<void> {
    try {
      await handle(message);
    } catch (error) {
      log.error("broker: a handler failed; its message goes back to the queue", { queue, error });
      message.requeue();
    }
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
      await kept.close(async () => {
        const inTime = await endsWithin(drainTimeoutMs, drain());
        if (!inTime) log.warn("broker: closed a consumer with messages unsettled; they go back", { queue });
      });
    },
  };
}
