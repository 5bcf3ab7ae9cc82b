import { randomUUID } from "node:crypto";
import { afterEach, beforeEach } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, connect, type GetMessage } from "amqplib";
import { type Broker, connectBroker } from "../../src/broker/broker.ts";
import type { IncomingMessage } from "../../src/broker/consumer.ts";
import type { BrokerLog } from "../../src/broker/outages.ts";
import type { OutgoingMessage } from "../../src/broker/publisher.ts";
import { type Names, names } from "../../src/broker/topology.ts";
import { type BrokerProxy, startProxy } from "./proxy.ts";

export interface LogLine {
  level: "debug" | "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

/** What a test of the broker layer works with; new for each test, and cleaned up after it. */
export interface Bench {
  namespace: string;
  names: Names;
  /** What the layer under test reaches the broker through. */
  proxy: BrokerProxy;
  /** Straight to the broker, for looking and acting from outside. */
  channel: ConfirmChannel;
  logged: LogLine[];
  /** Opens `channel` again, after the broker went away under it. */
  reconnect(): Promise<void>;
  /** Connects through the proxy. */
  connect(options?: { url?: string; name?: string }): Broker;
  /** Puts a message into a queue from outside. */
  put(queue: string, text: string, options?: Parameters<ConfirmChannel["sendToQueue"]>[2]): Promise<void>;
  /** How many messages a queue holds that nobody has. */
  waitingIn(queue: string): Promise<number>;
  /** Takes the oldest message of a queue, undefined where it holds none. */
  takeOne(queue: string): Promise<GetMessage | undefined>;
  /** Takes what a queue holds. */
  take(queue: string): Promise<string[]>;
}

/** @param brokerUrl asked before each test */
export function useBench(brokerUrl: () => string): Bench {
  const bench = {} as Bench;
  let connection: ChannelModel;
  let brokers: Broker[] = [];

  async function reconnect(): Promise<void> {
    connection = await connect(brokerUrl());
    connection.on("error", () => undefined);
    bench.channel = await connection.createConfirmChannel();
    bench.channel.on("error", () => undefined);
  }

  beforeEach(async () => {
    await reconnect();
    const namespace = `test-${randomUUID()}`;
    const proxy = await startProxy(brokerUrl);
    const logged: LogLine[] = [];
    brokers = [];
    Object.assign(bench, {
      namespace,
      names: names(namespace),
      proxy,
      logged,
      reconnect,
      connect: ({ url = proxy.url, name = "test" } = {}) => {
        const broker = connectBroker({ url, namespace, name, log: recordingLog(logged) });
        brokers.push(broker);
        return broker;
      },
      put: async (queue, text, options) => {
        bench.channel.sendToQueue(queue, Buffer.from(text), options);
        await bench.channel.waitForConfirms();
      },
      waitingIn: async (queue) => (await bench.channel.checkQueue(queue)).messageCount,
      takeOne: async (queue) => (await bench.channel.get(queue, { noAck: true })) || undefined,
      take: async (queue) => {
        const taken: string[] = [];
        for (;;) {
          const message = await bench.takeOne(queue);
          if (message === undefined) return taken;
          taken.push(message.content.toString());
        }
      },
    } satisfies Omit<Bench, "channel">);
  });

  afterEach(async () => {
    bench.proxy.accept();
    bench.proxy.release();
    await Promise.all(brokers.map((broker) => broker.close()));
    await bench.proxy.close();
    await deleteAll(connection, bench.names);
    await connection.close();
  });

  return bench;
}

async function deleteAll(connection: ChannelModel, all: Names): Promise<void> {
  const channel = await connection.createChannel();
  for (const queue of [all.inboxQueue, all.rejectedQueue, all.firstHintsQueue, all.manualHintsQueue]) {
    await channel.deleteQueue(queue);
  }
  await channel.deleteExchange(all.eventsExchange);
  await channel.deleteExchange(all.noticesExchange);
  await channel.close();
}

function recordingLog(lines: LogLine[]): BrokerLog {
  const at =
    (level: LogLine["level"]) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void lines.push({ level, message, fields });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Waits for a condition; the deadline is an error that names it. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 15_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited ${deadlineMs} ms in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A `handle` that keeps what it gets. */
export function inbox(): { messages: IncomingMessage[]; texts(): string[]; handle(message: IncomingMessage): void } {
  const messages: IncomingMessage[] = [];
  return {
    messages,
    texts: () => messages.map(({ content }) => content.toString()),
    handle: (message) => void messages.push(message),
  };
}

/** A message for a queue, as a publisher takes it. */
export function messageTo(queue: string, text: string): OutgoingMessage {
  return { exchange: "", routingKey: queue, content: Buffer.from(text) };
}
