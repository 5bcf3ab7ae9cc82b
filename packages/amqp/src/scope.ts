import type { Channel } from "amqplib";
import { type ConnectionOptions, openConnection } from "./connection.ts";
import type { BrokerScope, RecoveringChannel } from "./recovering-channel.ts";

export interface BrokerScopeOptions extends ConnectionOptions {
  /**
   * Declares the exchanges and queues that the channels rely on. It runs on each new channel before the channel works, so
   * the order in which programs start, and a queue that was deleted, do not matter. A rejection closes the channel; the
   * next one tries again.
   */
  declare(channel: Channel): Promise<unknown>;
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
