import type { Channel } from "amqplib";
import { type Authorities, openConnection } from "./connection.ts";
import type { Outages } from "./outages.ts";
import type { BrokerScope, RecoveringChannel } from "./recovering-channel.ts";

export interface BrokerScopeOptions {
  /** amqp://user:password@host:port/vhost, or amqps:// */
  url: string;
  /** Shown in the broker's list of connections. */
  name: string;
  /**
   * PEM certificates of the authorities that the broker's certificate may come from, for `amqps://`; Node's if absent. A function is asked for
   * them at each connection, so that a program can read a file that has changed.
   */
  ca?: Authorities | undefined;
  outages: Outages;
  /**
   * Declares the exchanges and queues that the channels rely on. It runs on each new channel before the channel works, so
   * the order in which programs start, and a queue that was deleted, do not matter. A rejection closes the channel; the
   * next one tries again.
   */
  declare(channel: Channel): Promise<unknown>;
  /** How long the broker may take to answer that a connection or a channel is closed; 2 s if absent. */
  closeTimeoutMs?: number;
  /**
   * How long the broker may take to answer any other request; 5 s if absent. Then the channel is closed and the next one is opened. If the broker
   * does not answer that either, the connection is made again.
   */
  answerTimeoutMs?: number;
}

const CLOSE_TIMEOUT_MS = 2_000;
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Opens one connection for consumers, publishers and other channels. It connects by itself and recovers by itself, and so
 * does everything that is started on it. Returns at once, connected or not.
 *
 * A program that both consumes and publishes opens two: a broker that is short of memory or disk stops reading from the
 * connections that publish, and acknowledgements on the same connection would wait with the messages.
 *
 * @throws if the URL is not an AMQP URL
 *
 * @example
 * const scope = openBrokerScope({
 *   url: "amqp://localhost",
 *   name: "billing",
 *   outages: logOutages(log),
 *   declare: (channel) => channel.assertQueue("orders", { durable: true }),
 * });
 * const publisher = startPublisher(scope);
 * await publisher.publish({ exchange: "", routingKey: "orders", content: Buffer.from("{}") });
 * await scope.close();
 */
export function openBrokerScope(options: BrokerScopeOptions): BrokerScope {
  const { declare, outages, closeTimeoutMs = CLOSE_TIMEOUT_MS, answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
  const connection = openConnection({ ...options, closeTimeoutMs, answerTimeoutMs });
  const channels = new Set<RecoveringChannel>();
  let waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  let closed: Promise<void> | undefined;
  connection.onChange(changed);

  function isReady(): boolean {
    if (closed !== undefined || connection.obstacle() !== undefined) return false;
    return [...channels].every((channel) => channel.current() !== undefined);
  }

  function changed(): void {
    if (waiting.length === 0 || !isReady()) return;
    const waited = waiting;
    waiting = [];
    for (const { resolve } of waited) resolve();
  }

  async function close(): Promise<void> {
    for (const { reject } of waiting) reject(new Error("The broker was closed before it was ready."));
    waiting = [];
    await Promise.all([...channels].map((channel) => channel.close()));
    await connection.close();
  }

  return {
    connection,
    outages,
    declare,
    channels,
    changed,
    closeTimeoutMs,
    answerTimeoutMs,
    isClosed: () => closed !== undefined,
    isReady,
    ready: () =>
      new Promise((resolve, reject) => {
        if (closed !== undefined) return reject(new Error("The broker has been closed."));
        waiting.push({ resolve, reject });
        changed();
      }),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
