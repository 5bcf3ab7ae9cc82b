import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import type { IncomingMessage } from "../src/index.ts";
import { useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

test("a consumer gets a message with its properties, and an acknowledged message is not delivered again", async () => {
  const { consumer, got } = await environment.consuming();
  environment.channel.publish(environment.names.exchange, "RiskCreated", Buffer.from("one"), {
    headers: { traceparent: "t" },
  });
  await until("the message came", () => got.messages.length === 1);
  const [message] = got.messages as [IncomingMessage];
  expect(message).toMatchObject({ routingKey: "RiskCreated", headers: { traceparent: "t" }, redelivered: false });

  message.ack();
  message.ack();
  await consumer.close();
  expect(await environment.take(environment.names.queue)).toEqual([]);
});

test("a consumer takes from several queues on one channel, and its end leaves to each queue what no handler settled", async () => {
  const { queue, otherQueue } = environment.names;
  const { consumer, got } = await environment.consuming({ queue: [queue, otherQueue], prefetch: 1 });
  for (const text of ["a1", "a2"]) await environment.put(queue, text);
  for (const text of ["b1", "b2"]) await environment.put(otherQueue, text);
  await until("one of each queue came", () => got.messages.length === 2);
  expect(got.texts().sort()).toEqual(["a1", "b1"]);
  for (const message of got.messages.slice()) message.ack();
  await until("the next of each queue came", () => got.messages.length === 4);
  expect(got.texts().slice(2).sort()).toEqual(["a2", "b2"]);
  await consumer.close({ drainTimeoutMs: 0 });
  for (const each of [queue, otherQueue]) {
    await until("it is in its queue again", async () => (await environment.waitingIn(each)) === 1);
  }
  expect(await environment.take(queue)).toEqual(["a2"]);
  expect(await environment.take(otherQueue)).toEqual(["b2"]);
});

test("regression: a consumer holds no more bytes than it may, whatever its prefetch, and its connection stays open", async () => {
  const { queue } = environment.names;
  const [size, maxBytes, total] = [16 * 1_024, 256 * 1_024, 200];
  // One read may add to that: the rest of the message before, and another message.
  const mostAtOnce = (maxBytes + 2 * 64 * 1_024) / size + 2;
  const unsettled: IncomingMessage[] = [];
  const came: string[] = [];
  const url = new URL(server.url);
  url.searchParams.set("heartbeat", "1");
  const broker = environment.connect({ url: url.href });
  broker.consume({
    queue,
    prefetch: 500,
    maxBytes,
    handle: (message) => {
      unsettled.push(message);
      came.push(message.content.toString("utf8", 0, 4));
    },
  });
  await broker.ready();
  const body = (number: number) => String(number).padStart(4, "0").padEnd(size, ".");
  for (let number = 0; number < total; number++) await environment.put(queue, body(number));
  await until("it holds what it may", () => unsettled.length > maxBytes / size);
  // A fixed wait only proves an absence: of more messages, and of an end of the connection, which three heartbeats would bring.
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  expect(unsettled.length).toBeLessThan(mostAtOnce);
  expect(environment.logged.filter(({ level }) => level === "warn")).toEqual([]);
  await until("all came", () => {
    if (unsettled.length > mostAtOnce) throw new Error(`it holds ${unsettled.length} messages`);
    unsettled.shift()?.ack();
    return came.length === total;
  });
  for (const message of unsettled) message.ack();
  expect(came).toEqual(Array.from({ length: total }, (_, number) => body(number).slice(0, 4)));
});

test("regression: a consumer is ready although the messages of its first queue are all that it may hold", async () => {
  const { queue, otherQueue } = environment.names;
  // The first consumer declares the queues.
  const { broker, consumer } = await environment.consuming();
  await consumer.close();
  for (let number = 0; number < 50; number++) await environment.put(queue, String(number).padEnd(65_536, "."));
  await environment.put(otherQueue, "other");
  const held: IncomingMessage[] = [];
  broker.consume({
    queue: [queue, otherQueue],
    prefetch: 100,
    maxBytes: 1,
    handle: (message) => void held.push(message),
  });
  await broker.ready();
  await until("some came", () => held.length > 0);
  const came: string[] = [];
  await until("all came, also from the other queue", () => {
    for (const message of held.splice(0)) {
      came.push(message.queue);
      message.ack();
    }
    return came.length === 51;
  });
  expect(came.filter((name) => name === otherQueue)).toHaveLength(1);
});

test("a consumer that holds as many bytes as it may can be closed, and leaves the rest to its queue", async () => {
  const { queue } = environment.names;
  const { consumer, got } = await environment.consuming({ prefetch: 100, maxBytes: 10 });
  for (let number = 0; number < 50; number++) await environment.put(queue, `message ${number}`.padEnd(16_384, "."));
  await until("some came", () => got.messages.length > 0);
  await consumer.close({ drainTimeoutMs: 0 });
  await until("all are in their queue again", async () => (await environment.waitingIn(queue)) === 50);
});

test("a consumer takes from all of its queues again after one of them was deleted", async () => {
  const { queue, otherQueue } = environment.names;
  const { broker, got } = await environment.consuming({ queue: [queue, otherQueue] });
  await environment.channel.deleteQueue(otherQueue);
  await until("the consumer has noticed", () => environment.logged.some(({ level }) => level === "warn"));
  await broker.ready();
  await environment.put(queue, "a");
  await environment.put(otherQueue, "b");
  await until("both came", () => got.messages.length === 2);
  for (const message of got.messages) message.ack();
});

test("a handler that throws or rejects gets its message again, and other messages are handled meanwhile", async () => {
  const got = inbox();
  let failures = 0;
  await environment.consuming({
    handle: (message) => {
      if (failures < 2 && message.content.toString() === "bad") {
        failures++;
        if (failures === 1) throw new Error("thrown");
        return Promise.reject(new Error("rejected"));
      }
      got.handle(message);
      message.ack();
    },
  });
  await environment.put(environment.names.queue, "bad");
  await environment.put(environment.names.queue, "good");
  await until("both came", () => got.messages.length === 2);
  expect(got.texts()).toEqual(["good", "bad"]);
  expect(got.messages[1]?.redelivered).toBe(false);
  expect(environment.logged.find(({ level }) => level === "error")?.fields.error).toEqual(new Error("thrown"));
  expect(environment.logged.filter(({ message }) => message.includes("works again"))).not.toHaveLength(0);
});

test("a consumer keeps its messages while the handler can't work, below their delivery limit, and logs that once", async () => {
  const got = inbox();
  let databaseIsAway = true;
  let failures = 0;
  await environment.consuming({
    prefetch: 50,
    handle: async (message) => {
      if (databaseIsAway) {
        failures++;
        throw new Error("the database is away");
      }
      got.handle(message);
      message.ack();
    },
  });
  for (let number = 0; number < 30; number++) await environment.put(environment.names.queue, String(number));
  await until("each failed a few times", () => failures >= 90);
  databaseIsAway = false;
  await until("all were handled", () => got.messages.length === 30);
  expect(got.messages.some(({ redelivered }) => redelivered)).toBe(false);
  expect(await environment.waitingIn(environment.names.deadLetterQueue)).toBe(0);
  expect(environment.logged.filter(({ level }) => level === "error")).toHaveLength(1);
});

test("a consumer does not hand over again a message that was settled before the handler threw", async () => {
  const got = inbox();
  const { broker } = await environment.consuming({
    handle: (message) => {
      got.handle(message);
      message.ack();
      throw new Error("too late");
    },
  });
  for (const text of ["a", "b", "c"]) await environment.put(environment.names.queue, text);
  await until("the last failed", () => got.messages.length === 3);
  await broker.close();
  expect(got.texts()).toEqual(["a", "b", "c"]);
  expect(await environment.take(environment.names.queue)).toEqual([]);
});
