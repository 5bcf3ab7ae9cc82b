import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { partOfBroker } from "../../src/broker/broker.ts";
import { messageTo, useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

const lines = (wanted: string) => environment.logged.filter(({ level }) => level === wanted);

test("a broker waits for one that is not there yet, and says so once for each of its three connections", async () => {
  environment.proxy.refuse();
  const broker = environment.connect();
  const got = inbox();
  broker.consumeEvents({ queue: environment.inboxQueue, prefetch: 10, handle: got.handle });
  const sent = broker.publisher({ timeoutMs: 100_000 }).publish(messageTo(environment.inboxQueue, "early"));
  await until("it was tried a few times", () => lines("debug").length >= 4);
  expect(broker.isReady()).toBe(false);
  expect(lines("warn")).toHaveLength(3);

  environment.proxy.accept();
  await broker.ready();
  await sent;
  await until("the message came", () => got.messages.length === 1);
  got.messages[0]?.ack();
  expect(lines("info").map(({ fields }) => fields.what)).toEqual(
    expect.arrayContaining(["test (receiving)", "test (sending)"]),
  );
  expect(lines("warn")).toHaveLength(3);
});

test("an inspector says how many messages wait, and for how many consumers", async () => {
  const broker = environment.connect();
  const inspector = broker.inspector();
  await broker.ready();
  expect(await inspector.depthOf(environment.names.rejectedQueue)).toEqual({ messages: 0, consumers: 0 });
  await environment.put(environment.names.rejectedQueue, "one");
  await environment.put(environment.names.rejectedQueue, "two");
  await until(
    "both are counted",
    async () => (await inspector.depthOf(environment.names.rejectedQueue)).messages === 2,
  );
  broker.consumeEvents({ queue: environment.inboxQueue, prefetch: 10, handle: () => {} });
  await until("the consumer is counted", async () => {
    return (await inspector.depthOf(environment.inboxQueue)).consumers === 1;
  });
});

test("an inspector fails one question for a deleted queue, and the queue is there for the next", async () => {
  const broker = environment.connect();
  const inspector = broker.inspector();
  await broker.ready();
  await environment.channel.deleteQueue(environment.names.rejectedQueue);
  await expect(inspector.depthOf(environment.names.rejectedQueue)).rejects.toThrow(environment.names.rejectedQueue);
  await until("it was declared again", async () => {
    const depth = await inspector.depthOf(environment.names.rejectedQueue).catch(() => undefined);
    return depth?.messages === 0;
  });
});

test("an inspector fails the question while the broker is away", async () => {
  const broker = environment.connect();
  const inspector = broker.inspector();
  await broker.ready();
  environment.proxy.refuse();
  await until("the channel is gone", () => !broker.isReady());
  await expect(inspector.depthOf(environment.inboxQueue)).rejects.toThrow("no channel");
});

test("a part of a broker that closes ends what was started on it, and leaves the connections to the others", async () => {
  const broker = environment.connect();
  const [first, second] = [partOfBroker(broker), partOfBroker(broker)];
  const [ended, going] = [inbox(), inbox()];
  const { inboxQueue } = environment;
  first.consumeEvents({ queue: inboxQueue, prefetch: 10, handle: ended.handle });
  const refused = first.publisher();
  await first.ready();
  await first.close();
  await expect(refused.publish(messageTo(inboxQueue, "late"))).rejects.toThrow("closed");

  second.consumeEvents({ queue: inboxQueue, prefetch: 10, handle: going.handle });
  await second.ready();
  await second.publisher().publish(messageTo(inboxQueue, "on"));
  await until("the message came", () => going.messages.length === 1);
  going.messages[0]?.ack();
  expect(ended.messages).toHaveLength(0);
  // Closing again does nothing.
  await first.close();
  expect(broker.isReady()).toBe(true);
});
