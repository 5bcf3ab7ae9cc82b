import {
  type BrokerLog,
  type BrokerScope,
  type Consumer,
  type ConsumerOptions,
  maintainChannel,
  type Outages,
  openBrokerScope,
  type Publisher,
  type PublisherOptions,
  type Sender,
  startConsumer,
  startPublisher,
  startSender,
} from "@herald/amqp";
import type { Channel } from "amqplib";
import type { ConfigError } from "../config/read-config.ts";
import { BROKER } from "../security/connection-fault.ts";
import { brokerAuthorities } from "../security/tls-files.ts";
import { outagesInWords } from "../service/outages.ts";
import { declareOwnerQueue, declareTopology, names, ownerQueueOf, type Side } from "./topology.ts";

// Services import a broker's types and errors from here, and not from the package below it.
export {
  type Consumer,
  type ConsumerOptions,
  type IncomingMessage,
  NotSentError,
  type Publisher,
  type Sender,
} from "@herald/amqp";

export interface BrokerOptions {
  url: string;
  /** PEM file of the authorities that the broker's certificate may come from; Node's if absent. */
  caFile?: string | undefined;
  namespace: string;
  /** The service whose connection it is; it declares all of Herald's exchanges and queues if absent. */
  side?: Side;
  /** The name of the process in the broker's list of connections: "herald-publisher". */
  name: string;
  log: BrokerLog;
  /** Called if the broker has refused the user or the virtual host since the start. */
  onRefused?: (error: ConfigError) => void;
  /** How long the broker may take to answer that a connection or a channel is closed; 2 s if absent. */
  closeTimeoutMs?: number;
  /** How often to ask whether the broker takes messages; 10 s if absent. */
  probeMs?: number;
}

/** Monitoring shows an alarm within a minute, and an idle process is not woken up often. */
const PROBE_MS = 10_000;

export type Broker = ReturnType<typeof connectBroker>;

/**
 * A process's way to the message broker. It connects by itself, and everything that was started on it works again after an
 * outage: no error of the broker needs an answer, except a `NotSentError`. Returns at once, connected or not.
 * @throws if the URL is not an AMQP URL, or asks for no TLS although there is a `caFile`; ConfigError if the file can't be used
 */
export function connectBroker(brokerOptions: BrokerOptions) {
  const { url, caFile, namespace, side, name, log, onRefused, probeMs = PROBE_MS, closeTimeoutMs } = brokerOptions;
  const tlsFiles = brokerAuthorities(url, caFile, log);
  const end = onRefused ?? ((error: Error) => log.error(error.message));
  const inWords = outagesInWords(log, BROKER, { url, end });
  const outages: Outages = {
    ...inWords,
    down(what, error) {
      tlsFiles?.failed(error);
      inWords.down(what, error);
    },
  };
  const declare = (channel: Channel) => declareTopology(channel, namespace, side);
  const ca = tlsFiles && (() => tlsFiles.current().ca ?? "");
  const others = { url, ca, outages, declare, ...(closeTimeoutMs !== undefined && { closeTimeoutMs }) };
  // A connection to publish has nothing else, since a broker that is short of memory or disk stops reading from it: acknowledgements, which free
  // the broker's memory, must not wait behind the messages.
  const receiving = openBrokerScope({ ...others, name: `${name} (receiving)` });
  const sending = openBrokerScope({ ...others, name: `${name} (sending)` });
  let events: BrokerScope | undefined;
  const scopes = () => [receiving, sending, ...(events ? [events] : [])];
  const own = names(namespace);

  // RabbitMQ reports a memory or disk alarm only to connections that publish. During an alarm it blocks all emitters, so no event comes, and Herald
  // itself would have nothing to publish. So it publishes a message that no queue takes, to an exchange to which the service's user may write.
  const probedBy: Record<Side, string> = {
    "management-api": own.requestsExchange,
    publisher: own.dispatchExchange,
    dispatcher: "",
  };
  const probed = side ? probedBy[side] : own.dispatchExchange;
  const prober = startSender(sending);
  const probe = { exchange: probed, routingKey: "nobody", content: Buffer.alloc(0) };
  const probing = setInterval(() => prober.send(probe), probeMs).unref();

  const isReady = () => scopes().every((scope) => scope.isReady());

  return {
    /** Undefined without a `caFile`. */
    tlsFiles,
    names: own,
    /** Connected, not blocked, and everything that was started on it is set up. */
    isReady,
    /** The broker takes no messages: its memory or disk alarm is set. Known within {@link BrokerOptions.probeMs}. */
    isBlocked: () => sending.connection.isBlocked(),
    /** Resolves once `isReady()`. @throws if the broker is closed before */
    ready: async () => {
      while (!isReady()) await Promise.all(scopes().map((scope) => scope.ready()));
    },
    /** Takes business events, over a connection of their own: one that holds as many bytes as it may rests (`maxBytes`), and holds up nothing else. */
    consumeEvents(options: ConsumerOptions): Consumer {
      events ??= openBrokerScope({ ...others, name: `${name} (events)` });
      return startConsumer(events, options, { log });
    },
    /** Consumes a dispatcher's own queue, by the id of its process: deliveries from publishers, and requests of the management API. */
    consumeAsOwner: (ownerId: string, options: Omit<ConsumerOptions, "queue">): Consumer => {
      const scope = { ...receiving, declare: (channel: Channel) => declareOwnerQueue(channel, namespace, ownerId) };
      const queue = ownerQueueOf(namespace, ownerId);
      return startConsumer(scope, { ...options, queue }, { log });
    },
    publisher: (options?: PublisherOptions): Publisher => startPublisher(sending, options),
    sender: (): Sender => startSender(sending),
    inspector: () => startInspector(receiving),
    /** Closes what is still open, consumers first, and the connections. */
    close: async () => {
      clearInterval(probing);
      await events?.close();
      await receiving.close();
      await sending.close();
    },
  };
}

/**
 * One service's part of a broker that several services of a process share. Closing it closes what was started on it, and leaves
 * the connections to the others. It is ready when the whole broker is.
 */
export function partOfBroker(broker: Broker): Broker {
  const parts = new Set<{ close(): Promise<void> }>();
  const own = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    parts.add(part);
    return part;
  };
  return {
    ...broker,
    consumeEvents: (options) => own(broker.consumeEvents(options)),
    consumeAsOwner: (ownerId, options) => own(broker.consumeAsOwner(ownerId, options)),
    publisher: (options) => own(broker.publisher(options)),
    sender: () => own(broker.sender()),
    inspector: () => own(broker.inspector()),
    async close() {
      await Promise.all([...parts].map((part) => part.close()));
    },
  };
}

export type Inspector = ReturnType<typeof startInspector>;

/** Looks at queues from outside, and binds them. Each function throws if the broker is away, or there is no such queue. */
export function startInspector(scope: BrokerScope) {
  // One of its own: the broker closes the channel on which a missing queue is asked for.
  const channel = maintainChannel(scope, { purpose: "inspector", open: scope.connection.openChannel });
  function on(queue: string): Channel {
    const open = channel.current();
    if (open === undefined) throw new Error(`The broker can't be asked about the queue ${queue}: no channel.`);
    return open;
  }
  return {
    depthOf: async (queue: string) => {
      const { messageCount, consumerCount } = await on(queue).checkQueue(queue);
      // Messages that a consumer holds are not counted.
      return { messages: messageCount, consumers: consumerCount };
    },
    /** Whether queues can be looked at now. The broker's outages have lines of their own. */
    isOpen: () => channel.current() !== undefined,
    bind: async (queue: string, exchange: string, key: string) =>
      void (await on(queue).bindQueue(queue, exchange, key)),
    unbind: async (queue: string, exchange: string, key: string) =>
      void (await on(queue).unbindQueue(queue, exchange, key)),
    close: channel.close,
  };
}
