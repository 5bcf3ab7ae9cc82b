import { type ClientEnvironment, inbox, useClientEnvironment } from "@herald/dev/harness/client-environment";
import type { Channel } from "amqplib";
import {
  type BrokerScope,
  type Consumer,
  type ConsumerOptions,
  logOutages,
  type OutgoingMessage,
  openBrokerScope,
  type Publisher,
  type PublisherOptions,
  type Sender,
  startConsumer,
  startPublisher,
  startSender,
} from "../src/index.ts";

function names(namespace: string) {
  return {
    exchange: `${namespace}.events`,
    /** Bound to the exchange; dead-letters to the next. */
    queue: `${namespace}.inbox`,
    deadLetterQueue: `${namespace}.rejected`,
    otherQueue: `${namespace}.other`,
    unboundExchange: `${namespace}.unbound`,
  };
}

export interface ScopeEnvironment extends ClientEnvironment<TestScope> {
  readonly names: ReturnType<typeof names>;
  /** A consumer that is at work, of `names.queue` unless said otherwise, and the messages that it got. */
  consuming(
    options?: Partial<ConsumerOptions>,
  ): Promise<{ broker: TestScope; consumer: Consumer; got: ReturnType<typeof inbox> }>;
  /** A publisher whose broker can be reached. */
  publishing(options?: PublisherOptions): Promise<{ broker: TestScope; publisher: Publisher }>;
}

/** A scope, and what can be started on it. */
interface TestScope extends BrokerScope {
  consume(options: ConsumerOptions): Consumer;
  publisher(options?: PublisherOptions): Publisher;
  sender(): Sender;
}

/** @param brokerUrl asked before each test */
export function useScopeEnvironment(brokerUrl: () => string): ScopeEnvironment {
  const environment = useClientEnvironment<TestScope>(
    brokerUrl,
    ({ url, namespace, log, ...options }) => {
      const outages = logOutages(log, { broker: URL.canParse(url) ? new URL(url).host : undefined });
      const scope = openBrokerScope({ url, outages, declare: declarer(namespace), ...options });
      return {
        ...scope,
        consume: (options) => startConsumer(scope, options, { log }),
        publisher: (options) => startPublisher(scope, options),
        sender: () => startSender(scope),
      };
    },
    (namespace) => {
      const { exchange, unboundExchange, ...queues } = names(namespace);
      return { queues: Object.values(queues), exchanges: [exchange, unboundExchange] };
    },
  );
  return Object.defineProperties(environment, {
    names: { get: () => names(environment.namespace) },
    consuming: {
      async value(options: Partial<ConsumerOptions> = {}) {
        const broker = environment.connect();
        const got = inbox();
        const { queue } = names(environment.namespace);
        const consumer = broker.consume({ queue, prefetch: 10, handle: got.handle, ...options });
        await broker.ready();
        return { broker, consumer, got };
      },
    },
    publishing: {
      async value(options?: PublisherOptions) {
        const broker = environment.connect();
        const publisher = broker.publisher(options);
        await broker.ready();
        return { broker, publisher };
      },
    },
  }) as ScopeEnvironment;
}

function declarer(namespace: string): (channel: Channel) => Promise<void> {
  const { exchange, queue, deadLetterQueue, otherQueue, unboundExchange } = names(namespace);
  const quorum = { "x-queue-type": "quorum" };
  const deadLettering = {
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": deadLetterQueue,
    "x-dead-letter-strategy": "at-least-once",
    "x-overflow": "reject-publish",
    "x-delivery-limit": 20,
  };
  return async (channel) => {
    await channel.assertExchange(exchange, "topic");
    await channel.assertExchange(unboundExchange, "topic");
    await channel.assertQueue(deadLetterQueue, { arguments: quorum });
    await channel.assertQueue(queue, { arguments: { ...quorum, ...deadLettering } });
    await channel.bindQueue(queue, exchange, "#");
    await channel.assertQueue(otherQueue, { arguments: quorum });
  };
}

/** A message for a queue, as a publisher takes it. */
export function messageTo(queue: string, text: string): OutgoingMessage {
  return { exchange: "", routingKey: queue, content: Buffer.from(text) };
}
