import { until } from "@herald/dev/harness/client-environment";
import { bogusAck } from "@herald/dev/harness/link";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { type IncomingMessage, NotSentError } from "../src/index.ts";
import { useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

test("after a lost connection a consumer gets unsettled messages again, and settling the old copies does nothing", async () => {
  const { broker, got } = await environment.consuming();
  await environment.put(environment.names.queue, "one");
  await until("it came", () => got.messages.length === 1);

  environment.proxy.cut();
  await until("the loss was seen", () => !broker.isReady());
  await until("it came again", () => got.messages.length === 2);
  const [old, again] = got.messages as [IncomingMessage, IncomingMessage];
  expect(again.redelivered).toBe(true);
  old.ack();
  old.reject();
  again.ack();
  await environment.put(environment.names.queue, "two");
  await until("the next came", () => got.messages.length === 3);
  got.messages[2]?.ack();
  await broker.close();
  expect(await environment.take(environment.names.queue)).toEqual([]);
  expect(await environment.take(environment.names.deadLetterQueue)).toEqual([]);
});

test("a consumer gets a new channel after a 406, which is logged once", async () => {
  const { broker, got } = await environment.consuming();
  await environment.put(environment.names.queue, "one");
  await until("it came", () => got.messages.length === 1);

  environment.proxy.inject("test", bogusAck(1));
  await until("it came again", () => got.messages.length === 2);
  got.messages[0]?.ack();
  got.messages[1]?.ack();
  await broker.ready();
  await broker.close();
  expect(await environment.take(environment.names.queue)).toEqual([]);
  const warnings = environment.logged.filter(({ level }) => level === "warn");
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.fields.reason).toMatch(/406.*PRECONDITION/i);
  expect(environment.logged.filter(({ level }) => level === "info")).toHaveLength(1);
});

test("a consumer loses no message when its channel and connection end several times", async () => {
  const broker = environment.connect({ name: "consuming" });
  const seen = new Set<string>();
  broker.consume({
    queue: environment.names.queue,
    prefetch: 50,
    handle: (message) =>
      void setImmediate(() => {
        seen.add(message.content.toString());
        message.ack();
      }),
  });
  const sending = environment.connect({ name: "sending" });
  const publisher = sending.publisher();
  await Promise.all([broker.ready(), sending.ready()]);
  const total = 600;
  let sent = 0;
  const publishing = (async () => {
    for (let number = 0; number < total; number++) {
      const content = Buffer.from(String(number));
      for (;;) {
        try {
          await publisher.publish({ exchange: environment.names.exchange, routingKey: "RiskCreated", content });
          break;
        } catch (error) {
          if (!(error instanceof NotSentError) || error.reason === "closed") throw error;
        }
      }
      sent++;
    }
  })();
  for (const share of [1, 2, 3, 4]) {
    await until("some were sent", () => sent >= (total * share) / 5);
    if (share % 2 === 0) environment.proxy.inject("consuming", bogusAck(1));
    else environment.proxy.cut();
  }
  await publishing;
  await until("all came", () => seen.size === total);
});

test("closing a consumer waits for the messages that were handed out, and leaves the rest to the queue", async () => {
  const { consumer, got } = await environment.consuming({ prefetch: 2 });
  for (const text of ["a", "b", "c"]) await environment.put(environment.names.queue, text);
  await until("two came", () => got.messages.length === 2);

  let closed = false;
  const closing = consumer.close().then(() => {
    closed = true;
  });
  got.messages[0]?.ack();
  await until(
    "the first was acknowledged, and the third not handed out",
    async () => (await environment.waitingIn(environment.names.queue)) === 1,
  );
  expect(closed).toBe(false);
  got.messages[1]?.ack();
  await closing;
  expect(got.texts()).toEqual(["a", "b"]);
  expect(await environment.take(environment.names.queue)).toEqual(["c"]);
});

test("closing a consumer gives unsettled messages back to the queue after its deadline", async () => {
  const { consumer, got } = await environment.consuming();
  await environment.put(environment.names.queue, "held");
  await until("it came", () => got.messages.length === 1);
  await consumer.close({ drainTimeoutMs: 50 });
  got.messages[0]?.ack();
  await until("it went back", async () => (await environment.waitingIn(environment.names.queue)) === 1);
});

test("closing a consumer gives messages back to the queue that the broker had already sent", async () => {
  const { consumer, got } = await environment.consuming();
  environment.proxy.holdAnswers();
  await environment.put(environment.names.queue, "on its way");
  await until("it was sent off", async () => (await environment.waitingIn(environment.names.queue)) === 0);
  const closing = consumer.close();
  environment.proxy.release();
  await closing;
  expect(got.texts()).toEqual([]);
  await until("it went back", async () => (await environment.waitingIn(environment.names.queue)) === 1);
});

test("closing a consumer gives back at once a message that waits for its next try", async () => {
  const broker = environment.connect();
  let tries = 0;
  let resolveClosing: (closing: Promise<void>) => void = () => {};
  const closing = new Promise<void>((resolve) => {
    resolveClosing = resolve;
  });
  const consumer = broker.consume({
    queue: environment.names.queue,
    prefetch: 10,
    handle: () => {
      tries++;
      // Long before the next try: the pause before it is the fourth, of at least 640 ms.
      if (tries === 4) setImmediate(() => resolveClosing(consumer.close()));
      throw new Error("not now");
    },
  });
  await broker.ready();
  await environment.put(environment.names.queue, "patience");
  await closing;
  // A close that waited for the pause would have waited for a fifth try, which begins it.
  expect(tries).toBe(4);
  await until("it went back", async () => (await environment.waitingIn(environment.names.queue)) === 1);
});

test("closing a consumer stops waiting when its channel dies, since nothing is left to settle", async () => {
  const { consumer, got } = await environment.consuming();
  await environment.put(environment.names.queue, "held");
  await until("it came", () => got.messages.length === 1);
  // Longer than the test may take.
  const closing = consumer.close({ drainTimeoutMs: 600_000 });
  await environment.put(environment.names.queue, "next");
  await until("the consumer takes no more", async () => (await environment.waitingIn(environment.names.queue)) === 1);
  environment.proxy.cut();
  await closing;
});

test.each([0, 4, 8, 15])(
  "closing a consumer that has been starting for %d ms leaves no consumer behind",
  async (afterMs) => {
    // Longer than the test may take: closing must not wait until it is over.
    const broker = environment.connect({ closeTimeoutMs: 600_000 });
    broker.publisher();
    await broker.ready();
    const consumer = broker.consume({ queue: environment.names.queue, prefetch: 10, handle: () => undefined });
    // So far the start has come; the delays differ so that a close meets each of its steps.
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await consumer.close();
    const consumers = async () => (await environment.channel.checkQueue(environment.names.queue)).consumerCount;
    await until("the queue has no consumer", async () => (await consumers()) === 0);
  },
);

test("closing a consumer does not wait for a broker that is away", async () => {
  // Longer than the test may take: closing must not wait until it is over.
  const broker = environment.connect({ closeTimeoutMs: 600_000 });
  const consumer = broker.consume({ queue: environment.names.queue, prefetch: 10, handle: () => undefined });
  await broker.ready();
  environment.proxy.refuse();
  await until("the loss was seen", () => !broker.isReady());
  await consumer.close();
  await broker.close();
});

test("a closed consumer does not keep its scope from being ready", async () => {
  const broker = environment.connect();
  await broker.ready();
  const consumer = broker.consume({ queue: "nowhere", prefetch: 10, handle: () => undefined });
  await until("the missing queue was logged", () =>
    environment.logged.some(({ fields }) => /404/.test(String(fields.reason))),
  );
  expect(broker.isReady()).toBe(false);
  await consumer.close();
  expect(broker.isReady()).toBe(true);
});

test("regression: what arrives while a consumer of many queues closes goes back once, and does not reach its delivery limit", async () => {
  const { queue } = environment.names;
  const connection = await connect(server.url);
  const channel = await connection.createConfirmChannel();
  try {
    const broker = environment.connect();
    await broker.ready();
    // The broker cancels one consumer after the other, and that of the last queue some time after the first.
    const others = Array.from({ length: 100 }, (_, index) => `${queue}.${index}`);
    for (const other of others) await channel.assertQueue(other, { autoDelete: true });
    const consumer = broker.consume({ queue: [...others, queue], prefetch: 10, handle: () => {} });
    await broker.ready();
    const closing = consumer.close();
    channel.sendToQueue(queue, Buffer.from("late"));
    await channel.waitForConfirms();
    await closing;
    await until("it is in the queue", async () => (await environment.waitingIn(queue)) === 1);
    const message = await channel.get(queue);
    expect(message && (message.properties.headers?.["x-delivery-count"] ?? 0)).toBeLessThanOrEqual(1);
  } finally {
    await connection.close();
  }
});
