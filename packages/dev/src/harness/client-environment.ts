import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "@herald/common/broker/broker";
import { afterEach, beforeEach } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, connect, type GetMessage } from "amqplib";
import { eventually } from "./eventually.ts";
import { type BrokerProxy, startProxy } from "./link.ts";

export interface LogLine {
  level: "debug" | "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

export interface ClientOptions {
  url: string;
  name: string;
  /** First part of the names that it declares. */
  namespace: string;
  log: Record<LogLine["level"], (message: string, fields?: Record<string, unknown>) => void>;
  /** Longer than any test, where a test must show that a client does not wait for it. */
  closeTimeoutMs?: number;
  /** Short, where a test waits until it is over. */
  answerTimeoutMs?: number;
  /** Short, where a test waits for what a probe finds. */
  probeMs?: number;
}

/** The surroundings of a test of a RabbitMQ client; new for each test, and cleaned up after it. */
export interface ClientEnvironment<Client> {
  readonly namespace: string;
  /** The way of the client under test to the broker. */
  readonly proxy: BrokerProxy;
  /** Straight to the broker, for looking and acting from outside. */
  readonly channel: ConfirmChannel;
  readonly logged: LogLine[];
  /** Makes a client, which reaches the broker through the proxy. */
  connect(options?: Partial<Omit<ClientOptions, "namespace" | "log">>): Client;
  /** Puts a message into a queue from outside. */
  put(queue: string, text: string, options?: Parameters<ConfirmChannel["sendToQueue"]>[2]): Promise<void>;
  /** How many messages of a queue no consumer holds. */
  waitingIn(queue: string): Promise<number>;
  /** Takes the oldest message of a queue, undefined if it holds none. */
  takeOne(queue: string): Promise<GetMessage | undefined>;
  /** Takes what a queue holds. */
  take(queue: string): Promise<string[]>;
}

/** Closes each client that `makeClient` made, and deletes what it declared, by the names of `declaredBy`. The broker may have another URL in each test. */
export function useClientEnvironment<Client extends { close(): Promise<void> }>(
  brokerUrl: () => string,
  makeClient: (options: ClientOptions) => Client,
  declaredBy: (namespace: string) => { queues: string[]; exchanges: string[] },
): ClientEnvironment<Client> {
  const environment = {} as { -readonly [Key in keyof ClientEnvironment<Client>]: ClientEnvironment<Client>[Key] };
  let connection: ChannelModel;
  let clients: Client[] = [];

  beforeEach(async () => {
    connection = await connect(brokerUrl());
    connection.on("error", () => undefined);
    environment.channel = await connection.createConfirmChannel();
    environment.channel.on("error", () => undefined);
    const namespace = `test-${randomUUID()}`;
    const proxy = await startProxy(brokerUrl);
    const logged: LogLine[] = [];
    clients = [];
    Object.assign(environment, {
      namespace,
      proxy,
      logged,
      connect: (options = {}) => {
        const client = makeClient({ url: proxy.url, name: "test", namespace, log: recordingLog(logged), ...options });
        clients.push(client);
        return client;
      },
      put: async (queue, text, options) => {
        environment.channel.sendToQueue(queue, Buffer.from(text), options);
        await environment.channel.waitForConfirms();
      },
      waitingIn: async (queue) => (await environment.channel.checkQueue(queue)).messageCount,
      takeOne: async (queue) => (await environment.channel.get(queue, { noAck: true })) || undefined,
      take: async (queue) => {
        const taken: string[] = [];
        for (;;) {
          const message = await environment.takeOne(queue);
          if (message === undefined) return taken;
          taken.push(message.content.toString());
        }
      },
    } satisfies Omit<ClientEnvironment<Client>, "channel">);
  });

  afterEach(async () => {
    environment.proxy.accept();
    environment.proxy.release();
    await Promise.all(clients.map((client) => client.close()));
    await environment.proxy.close();
    const { queues, exchanges } = declaredBy(environment.namespace);
    const channel = await connection.createChannel();
    for (const queue of queues) await channel.deleteQueue(queue);
    for (const exchange of exchanges) await channel.deleteExchange(exchange);
    await connection.close();
  });

  return environment;
}

function recordingLog(lines: LogLine[]): ClientOptions["log"] {
  const at =
    (level: LogLine["level"]) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void lines.push({ level, message, fields });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Waits for a condition; the error at the deadline names it. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 60_000) {
  const check = async () => {
    if (!(await condition())) throw new Error(`Waited in vain until ${what}.`);
  };
  await eventually(check, { timeoutMs, intervalMs: 10 });
}

/** A `handle` for a consumer that keeps what it gets. */
export function inbox(): { messages: IncomingMessage[]; texts(): string[]; handle(message: IncomingMessage): void } {
  const messages: IncomingMessage[] = [];
  return {
    messages,
    texts: () => messages.map(({ content }) => content.toString()),
    handle: (message) => void messages.push(message),
  };
}
