import { connect as connectTcp, createServer, type Server, type Socket } from "node:net";
import { eventually } from "@herald/testkit/harness/eventually";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Channel, type ChannelModel, connect, type GetMessage } from "amqplib";
import {
  createEmitter,
  type EmittedEvent,
  type Emitter,
  type EmitterOptions,
  NotSentError,
  newEvent,
} from "../src/index.ts";

const broker = useBroker();
const exchange = `${broker.namespace}.events`;
const queue = `${broker.namespace}.inbox`;

let admin: ChannelModel;
let channel: Channel;
const emitters: Emitter[] = [];
const proxies: Proxy[] = [];

beforeEach(async () => {
  admin = await connect(broker.url);
  // Tests close all connections of the virtual host, this one too.
  admin.on("error", () => {});
  channel = await admin.createChannel();
  channel.on("error", () => {});
});

afterEach(async () => {
  await Promise.all(emitters.splice(0).map((emitter) => emitter.close()));
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await admin.close().catch(() => {});
  const cleaner = await connect(broker.url);
  const cleaning = await cleaner.createChannel();
  await cleaning.deleteQueue(queue);
  await cleaning.deleteExchange(exchange);
  await cleaner.close();
});

const declareExchange = () => channel.assertExchange(exchange, "topic", { durable: true });

/** Herald's side: the exchange, and a queue that takes everything. */
async function declareInbox(queueArguments: Record<string, unknown> = {}): Promise<void> {
  await declareExchange();
  await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum", ...queueArguments } });
  await channel.bindQueue(queue, exchange, "#");
}

function start(options: Partial<EmitterOptions> = {}): Emitter {
  const emitter = createEmitter({ url: broker.url, namespace: broker.namespace, timeoutMs: 10_000, ...options });
  emitters.push(emitter);
  return emitter;
}

const anEvent = (changes: Partial<EmittedEvent> = {}): EmittedEvent =>
  newEvent({
    organizationId: "acme",
    type: "WorkItemCompleted",
    entityType: "WorkItem",
    entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
    data: { changes: { Status: { oldValue: "In progress", newValue: "Done" } } },
    ...changes,
  });

/** Everything in the queue, oldest first; over a connection of its own. */
async function takeAll(): Promise<GetMessage[]> {
  const own = await connect(broker.url);
  const reading = await own.createChannel();
  const messages: GetMessage[] = [];
  for (;;) {
    const message = await reading.get(queue, { noAck: true });
    if (message === false) break;
    messages.push(message);
  }
  await own.close();
  return messages;
}

const idOf = (message: GetMessage) => (JSON.parse(message.content.toString()) as EmittedEvent).id;

const reasonOf = async (emission: Promise<void>) => {
  const error = await emission.then(
    () => null,
    (reason: unknown) => reason,
  );
  return error instanceof NotSentError ? error.reason : error;
};

describe("emit", () => {
  test("publishes the contract's message under the event's type, and resolves when it is stored", async () => {
    await declareInbox();
    const event = anEvent();
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await start().emit(event, { traceparent });
    const [message, ...others] = await takeAll();
    expect(others).toEqual([]);
    expect(JSON.parse(message?.content.toString() ?? "")).toEqual(event);
    expect(message?.fields).toMatchObject({ exchange, routingKey: "WorkItemCompleted" });
    expect(message?.properties).toMatchObject({
      deliveryMode: 2,
      contentType: "application/json",
      messageId: event.id,
      headers: { traceparent },
    });
  });

  test("keeps the order of its calls", async () => {
    await declareInbox();
    const emitter = start({ maxUnconfirmed: 7 });
    const events = Array.from({ length: 100 }, () => anEvent());
    await Promise.all(events.map((event) => emitter.emit(event)));
    expect((await takeAll()).map(idOf)).toEqual(events.map(({ id }) => id));
  });

  test("refuses an event that breaks the contract, without the broker", async () => {
    const emitter = start({ url: "amqp://127.0.0.1:1" });
    await expect(emitter.emit(anEvent({ entityId: "7" }))).rejects.toThrow("entityId must be a UUID");
  });

  test("an event that no queue takes was not sent", async () => {
    await declareExchange();
    expect(await reasonOf(start().emit(anEvent()))).toBe("unroutable");
  });

  test("an event that the broker refuses was not sent", async () => {
    await declareInbox({ "x-queue-type": "classic", "x-max-length": 1, "x-overflow": "reject-publish" });
    const emitter = start();
    await emitter.emit(anEvent());
    expect(await reasonOf(emitter.emit(anEvent()))).toBe("refused");
  });
});

describe("without Herald's exchange", () => {
  test("emit waits for it", async () => {
    const failures: string[] = [];
    const emitter = start({ onFailure: ({ message }) => failures.push(message) });
    const emission = emitter.emit(anEvent());
    await eventually(() => expect(failures.length).toBeGreaterThan(0));
    await declareInbox();
    await emission;
    expect(await takeAll()).toHaveLength(1);
  });

  test("emit says what is missing once its time is up", async () => {
    const emission = start({ timeoutMs: 500 }).emit(anEvent());
    await expect(emission).rejects.toThrow(`the exchange ${exchange} is not on the broker: start Herald's publisher`);
  });

  test("an exchange that is deleted and made again is found again", async () => {
    await declareInbox();
    const failures: Error[] = [];
    const emitter = start({ onFailure: (error) => failures.push(error) });
    await emitter.emit(anEvent());
    await channel.deleteExchange(exchange);
    const emission = emitter.emit(anEvent());
    await eventually(() => expect(failures.length).toBeGreaterThan(0));
    await declareInbox();
    await emission;
    expect(await takeAll()).toHaveLength(2);
  });
});

describe("when the broker goes away", () => {
  test("every event that was emitted arrives, over however many connections", async () => {
    await declareInbox();
    const emitter = start({ maxUnconfirmed: 50, timeoutMs: 20_000 });
    const events = Array.from({ length: 2000 }, () => anEvent());
    let sent = 0;
    const emissions = Promise.all(
      events.map(async (event) => {
        await emitter.emit(event);
        sent++;
      }),
    );
    for (const share of [200, 800, 1400]) {
      await eventually(() => expect(sent).toBeGreaterThan(share));
      await broker.closeConnections();
    }
    await emissions;
    const arrived = new Set((await takeAll()).map(idOf));
    expect(events.filter(({ id }) => !arrived.has(id))).toEqual([]);
  });

  test("an event that could not be handed over in time was not sent, and no password is told", async () => {
    const emitter = start({ url: "amqp://somebody:hunter2@127.0.0.1:1/", timeoutMs: 300 });
    const error = await emitter.emit(anEvent()).catch((reason: unknown) => reason as NotSentError);
    expect(error).toMatchObject({ name: "NotSentError", reason: "unavailable" });
    expect(error?.message).toMatch(
      /the broker can't be reached .*ECONNREFUSED.* Emitting it again with the same id is safe/,
    );
    expect(error?.message).not.toContain("hunter2");
  });

  test("what a silent broker does not confirm was not sent, and no more than the window is on its way", async () => {
    await declareInbox();
    const proxy = await proxyTo(broker.url);
    proxies.push(proxy);
    const emitter = start({ url: proxy.url, maxUnconfirmed: 5, timeoutMs: 1000 });
    await emitter.emit(anEvent());
    proxy.silence();
    const reasons = await Promise.all(Array.from({ length: 8 }, () => reasonOf(emitter.emit(anEvent()))));
    expect(reasons).toEqual([...Array(5).fill("unconfirmed"), ...Array(3).fill("unavailable")]);
    // It was stored all the same: this is why Herald goes by the id.
    expect(await takeAll()).toHaveLength(6);
    proxy.speak();
    await emitter.emit(anEvent());
  });
});

describe("close", () => {
  test("waits for what is under way, and ends the connection", async () => {
    await declareInbox();
    const emitter = start();
    const emissions = Promise.all(Array.from({ length: 100 }, () => emitter.emit(anEvent())));
    await emitter.close();
    await emissions;
    expect(await takeAll()).toHaveLength(100);
    // The one of this test.
    await eventually(async () => expect(await broker.countConnections()).toBe(1));
    expect(await reasonOf(emitter.emit(anEvent()))).toBe("closed");
  });

  test("ends while the broker can't be reached", async () => {
    await start({ url: "amqp://127.0.0.1:1" }).close();
  });

  test("ends before the connection is made", async () => {
    await start().close();
  });
});

test.each(["127.0.0.1:5672", "http://127.0.0.1", "amqp://", "amqp:5672"])("%s is no broker's url", (url) => {
  expect(() => createEmitter({ url })).toThrow(/must be of the form amqp:/);
});

interface Proxy {
  url: string;
  /** What the broker says goes no further, until `speak`. */
  silence(): void;
  speak(): void;
  close(): Promise<void>;
}

async function proxyTo(url: string): Promise<Proxy> {
  const target = new URL(url);
  const upstreams = new Set<Socket>();
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connectTcp(Number(target.port), target.hostname);
    upstreams.add(upstream);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk) => to.write(chunk));
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const through = new URL(url);
  through.port = String(typeof address === "object" ? address?.port : "");
  return {
    url: through.href,
    silence: () => {
      for (const upstream of upstreams) upstream.pause();
    },
    speak: () => {
      for (const upstream of upstreams) upstream.resume();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
