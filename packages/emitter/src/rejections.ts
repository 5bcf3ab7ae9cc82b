import {
  type Authorities,
  type BrokerLog,
  type BrokerScopeOptions,
  openBrokerScope,
  startConsumer,
} from "@herald/amqp";
import type { RejectedEvent } from "@herald/contracts";

/** Handles a rejected event. The notice is acknowledged when the handler has returned or resolved; until then it comes again. */
export type RejectionHandler = (rejection: RejectedEvent) => void | Promise<void>;

export interface RejectionOptions {
  /**
   * The service's own queue, which is made and bound if it is missing. It keeps the last 10,000 rejections while no process of
   * the service runs. Processes that name the same queue share it. The broker's user must be allowed to make it: as `product`, a
   * name that begins with "product.".
   */
  queue: string;
  /** The broker as another user; the emitter's if absent. */
  url?: string;
  /** How many rejections may be handled at once; 10 if absent. */
  prefetch?: number;
}

export interface Rejections {
  isReady(): boolean;
  /** Takes no more, waits until the handlers have ended (at most 10 s), and disconnects. Other notices stay in the queue. */
  close(): Promise<void>;
}

interface Listening extends RejectionOptions {
  url: string;
  ca: Authorities | undefined;
  namespace: string;
  connectionName: string;
  onFailure: ((error: Error) => void) | undefined;
}

const MOST_WAITING = 10_000;

/** So high that it is no limit. RabbitMQ 4 drops a message after 20 deliveries by default, also if its handler only failed for a while. */
const NO_DELIVERY_LIMIT = 1_000_000_000;

/**
 * Begins to listen, connected or not, and listens again after each outage. It has a connection of its own: a broker that is
 * short of memory or disk stops reading from those that publish, and acknowledgements must not wait there.
 * @throws if the url is not an AMQP URL
 */
export function listenForRejections(
  handle: RejectionHandler,
  { queue, url, prefetch = 10, ca, namespace, connectionName, onFailure }: Listening,
): Rejections {
  const exchange = `${namespace}.notices`;
  const scope = openBrokerScope({
    url,
    name: `${connectionName} (rejections)`,
    ca,
    outages: { down: (_what, error) => onFailure?.(error), up: () => undefined },
    declare: async (channel) => {
      await checkExchange(channel, exchange);
      await channel.assertQueue(queue, {
        durable: true,
        arguments: {
          "x-queue-type": "quorum",
          "x-max-length": MOST_WAITING,
          "x-overflow": "drop-head",
          "x-delivery-limit": NO_DELIVERY_LIMIT,
        },
      });
      await channel.bindQueue(queue, exchange, "event.rejected");
    },
  });
  const log: BrokerLog = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (_message, fields) =>
      onFailure?.(new Error("a rejected event was not handled; it is handed over again", { cause: fields?.error })),
  };
  startConsumer(
    scope,
    {
      queue,
      prefetch,
      handle: async (message) => {
        const rejection = readRejection(message.content);
        // The service may have bound other messages to its queue, for which it has no handler here.
        if (rejection) await handle(rejection);
        message.ack();
      },
    },
    { log },
  );
  return { isReady: scope.isReady, close: scope.close };
}

function readRejection(content: Buffer): RejectedEvent | undefined {
  try {
    const value = JSON.parse(content.toString("utf8")) as { type?: unknown } | null;
    return value?.type === "event.rejected" ? (value as RejectedEvent) : undefined;
  } catch {
    return undefined;
  }
}

type Channel = Parameters<BrokerScopeOptions["declare"]>[0];

/** @throws if Herald's exchange is not on the broker: Herald's publisher makes it, so start that first */
export async function checkExchange(channel: Channel, exchange: string): Promise<void> {
  await channel.checkExchange(exchange).catch((error: Error & { code?: number }) => {
    if (error.code !== 404) throw error;
    const text = `the exchange ${exchange} is not on the broker: start Herald's publisher, or restart it: it makes the exchange`;
    throw new Error(text, { cause: error });
  });
}
