import { openConnection } from "./connection.ts";
import { type Consumer, type ConsumerOptions, startConsumer } from "./consumer.ts";
import { type Inspector, startInspector } from "./inspector.ts";
import type { Home, KeptChannel } from "./kept-channel.ts";
import { type BrokerLog, logOutages } from "./outages.ts";
import { type Publisher, type PublisherOptions, startPublisher } from "./publisher.ts";
import { startReplier } from "./replier.ts";
import { type Requester, startRequester } from "./requester.ts";
import { type Names, names } from "./topology.ts";

export interface BrokerOptions {
  /** amqp://user:password@host:port/vhost, or amqps:// */
  url: string;
  /** First part of every exchange's and queue's name. */
  namespace: string;
  /** Who connects, as the broker shows it: "herald-publisher". */
  name: string;
  log: BrokerLog;
}

/**
 * A process's way to the message broker. Connects by itself and for ever, and everything that was started on it works again
 * after an outage: no error of the broker needs an answer, except a `NotSentError`.
 */
export interface Broker {
  /** What this Herald's exchanges and queues are called. */
  readonly names: Names;
  /** Connected, not blocked, and everything that was started on it is set up. */
  isReady(): boolean;
  /** Resolves once `isReady()`. @throws where it is closed before */
  ready(): Promise<void>;
  consume(options: ConsumerOptions): Consumer;
  publisher(options?: PublisherOptions): Publisher;
  requester(): Requester;
  inspector(): Inspector;
  /** Closes what is still open, consumers first, and the connections. */
  close(): Promise<void>;
}

interface Closable {
  close(): Promise<void>;
}

/**
 * Returns at once, connected or not.
 *
 * @throws where the URL is not a broker's
 */
export function connectBroker({ url, namespace, name, log }: BrokerOptions): Broker {
  const outages = logOutages(log, { broker: URL.canParse(url) ? new URL(url).host : undefined });
  // Two connections, since a broker that is short of memory or disk stops reading from those that publish. Acknowledgements
  // on the same connection would be stuck with them, and it is they that free the broker's memory.
  const receiving = openConnection({ url, name: `${name} (receiving)`, outages });
  const sending = openConnection({ url, name: `${name} (sending)`, outages });
  receiving.onChange(changed);
  sending.onChange(changed);
  const channels = new Set<KeptChannel>();
  const receivingHome: Home = { connection: receiving, outages, channels, changed };
  const sendingHome: Home = { connection: sending, outages, channels, changed };

  const consumers: Closable[] = [];
  const senders: Closable[] = [];
  let replier: ReturnType<typeof startReplier> | undefined;
  let waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  let closed = false;

  function isReady(): boolean {
    if (closed || !receiving.isUp() || !sending.isUp() || sending.isBlocked()) return false;
    return [...channels].every((channel) => channel.isOpen());
  }

  function changed(): void {
    if (waiting.length === 0 || !isReady()) return;
    const waited = waiting;
    waiting = [];
    for (const { resolve } of waited) resolve();
  }

  /** Remembers what was started, to close it with the broker. Closing twice does no harm. */
  function among<Part extends Closable>(parts: Closable[], start: () => Part): Part {
    if (closed) throw new Error("The broker has been closed.");
    const part = start();
    parts.push(part);
    return part;
  }

  return {
    names: names(namespace),
    isReady,
    ready: () =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new Error("The broker has been closed."));
        waiting.push({ resolve, reject });
        changed();
      }),
    consume: (options) => {
      replier ??= among(senders, () => startReplier({ home: sendingHome, log }));
      const { reply } = replier;
      return among(consumers, () => startConsumer(options, { home: receivingHome, namespace, reply, log }));
    },
    publisher: (options = {}) => among(senders, () => startPublisher(options, { home: sendingHome, namespace })),
    requester: () => among(senders, () => startRequester({ home: sendingHome, namespace })),
    inspector: () => among(senders, () => startInspector({ home: receivingHome, namespace })),
    close: async () => {
      if (closed) return;
      closed = true;
      for (const { reject } of waiting) reject(new Error("The broker was closed before it was ready."));
      waiting = [];
      await Promise.all([...consumers].map((part) => part.close()));
      await Promise.all([...senders].map((part) => part.close()));
      await Promise.all([receiving.close(), sending.close()]);
    },
  };
}
