import { randomUUID } from "node:crypto";
import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { declareOwnerQueue, declareTopology, ownerQueueOf } from "../../src/broker/topology.ts";
import { useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

test("Herald's topology keeps types and arguments, since the broker refuses others: versions work beside each other", async () => {
  const { channel, names } = environment;
  await Promise.all([1, 2, 3].map(() => declareTopology(channel, environment.namespace)));
  const declared = (queue: string, more: object) =>
    channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum", ...more } });
  const leadingTo = (queue: string) => ({
    ...{ "x-delivery-limit": 20, "x-max-length-bytes": 1024 ** 3, "x-queue-leader-locator": "balanced" },
    ...{ "x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue },
    ...{ "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish" },
  });
  for (const queue of [...names.inboxQueues, ...names.behindQueues])
    await declared(queue, leadingTo(names.deadLetterQueue));
  await declared(names.deadLetterQueue, leadingTo(names.rejectedQueue));
  await declared(names.rejectedQueue, { "x-delivery-limit": 1_000_000_000 });
  const { eventsExchange, inboxExchange, floodsExchange, noticesExchange, dispatchExchange, requestsExchange } = names;
  await channel.assertExchange(eventsExchange, "fanout");
  await channel.assertExchange(floodsExchange, "topic", { alternateExchange: inboxExchange });
  for (const topic of [inboxExchange, noticesExchange]) await channel.assertExchange(topic, "topic");
  for (const direct of [dispatchExchange, requestsExchange]) await channel.assertExchange(direct, "direct");
});

test("Herald's topology takes an event to the inbox queue of its bucket, whatever its type, and to no other", async () => {
  await declareTopology(environment.channel, environment.namespace);
  const { eventsExchange, inboxQueues, behindQueues } = environment.names;
  const keys = [..."0123456789abcdef"].flatMap((bucket) => [`RiskCreated.${bucket}.a`, `another-type.${bucket}.0`]);
  for (const key of keys) environment.channel.publish(eventsExchange, key, Buffer.from(key), { mandatory: true });
  await environment.channel.waitForConfirms();
  const taken: string[][] = [];
  for (const queue of inboxQueues) taken.push(await environment.take(queue));
  expect(taken).toEqual(inboxQueues.map((_, index) => keys.slice(2 * index, 2 * index + 2)));
  for (const queue of behindQueues) expect(await environment.waitingIn(queue)).toBe(0);
});

test("a queue that an operator binds to the exchange of events, to read along, takes none of them away", async () => {
  await declareTopology(environment.channel, environment.namespace);
  const { eventsExchange } = environment.names;
  const { queue } = await environment.channel.assertQueue("", { exclusive: true });
  await environment.channel.bindQueue(queue, eventsExchange, "");
  environment.channel.publish(eventsExchange, "RiskCreated.0.7", Buffer.from("event"));
  await environment.channel.waitForConfirms();
  expect(await environment.take(queue)).toEqual(["event"]);
  expect(await environment.take(environment.inboxQueue)).toEqual(["event"]);
});

test("Herald's topology moves an event that comes back too often to the queue of dead letters, and from there to the rejected queue, whole", async () => {
  const broker = environment.connect();
  const got = inbox();
  broker.consumeEvents({
    queue: [environment.inboxQueue, environment.names.deadLetterQueue],
    prefetch: 10,
    handle: (message) => {
      got.handle(message);
      message.requeue();
    },
  });
  await broker.ready();
  environment.channel.publish(environment.names.eventsExchange, "RiskCreated", Buffer.from("poison"), {
    headers: { traceparent: "t" },
  });
  await until("it was moved", async () => (await environment.waitingIn(environment.names.rejectedQueue)) === 1);
  expect(got.messages).toHaveLength(42);
  const moved = await environment.takeOne(environment.names.rejectedQueue);
  expect(moved?.content.toString()).toBe("poison");
  expect(moved?.properties.headers).toMatchObject({
    traceparent: "t",
    "x-first-death-reason": "delivery_limit",
    "x-first-death-queue": environment.inboxQueue,
  });
});

test("Herald's topology keeps a rejected event, however often it is read and requeued", async () => {
  await declareTopology(environment.channel, environment.namespace);
  await environment.put(environment.names.rejectedQueue, "look at me");
  for (let look = 0; look < 50; look++) {
    const message = await environment.channel.get(environment.names.rejectedQueue);
    if (message === false) throw new Error(`It was gone at look ${look}.`);
    environment.channel.nack(message, false, true);
  }
  expect(await environment.take(environment.names.rejectedQueue)).toEqual(["look at me"]);
});

test("Herald's topology takes what is sent to a dispatcher, by both exchanges, to the queue of its own, and drops a message without a queue", async () => {
  const owner = randomUUID();
  const broker = environment.connect();
  const got = inbox();
  broker.consumeAsOwner(owner, { prefetch: 10, handle: got.handle });
  await broker.ready();
  const { dispatchExchange, requestsExchange } = environment.names;
  for (const exchange of [dispatchExchange, requestsExchange]) {
    environment.channel.publish(exchange, randomUUID(), Buffer.from("for no queue"));
    environment.channel.publish(exchange, owner, Buffer.from(exchange));
  }
  await environment.channel.waitForConfirms();
  await until("both came", () => got.messages.length === 2);
  // From the exchange a dispatcher learns which services may have sent the message.
  expect(got.messages.map(({ content, exchange }) => [content.toString(), exchange])).toEqual([
    [dispatchExchange, dispatchExchange],
    [requestsExchange, requestsExchange],
  ]);
  for (const message of got.messages) message.ack();
});

test("Herald's topology makes the queue of a dispatcher again with its connection, and leaves none of a dispatcher that has ended", async () => {
  const owner = randomUUID();
  const broker = environment.connect();
  const got = inbox();
  broker.consumeAsOwner(owner, { prefetch: 10, handle: got.handle });
  await broker.ready();
  environment.proxy.cut();
  const { dispatchExchange } = environment.names;
  await until("it is there again", async () => {
    environment.channel.publish(dispatchExchange, owner, Buffer.from("again"));
    await environment.channel.waitForConfirms();
    return got.messages.length > 0;
  });
  await broker.close();
  const returned: string[] = [];
  environment.channel.on("return", ({ content }) => returned.push(content.toString()));
  await until("it is gone", async () => {
    environment.channel.publish(dispatchExchange, owner, Buffer.from("too late"), { mandatory: true });
    await environment.channel.waitForConfirms();
    return returned.length > 0;
  });
});

test("Herald's topology drops the oldest of what waits for a dispatcher that stands still", async () => {
  const owner = randomUUID();
  await declareOwnerQueue(environment.channel, environment.namespace, owner);
  const { dispatchExchange } = environment.names;
  const mebibyte = (number: number) => Buffer.from(String(number).padEnd(1024 ** 2));
  for (let number = 0; number < 70; number++) {
    environment.channel.publish(dispatchExchange, owner, mebibyte(number), { persistent: false });
  }
  await environment.channel.waitForConfirms();
  const queue = ownerQueueOf(environment.namespace, owner);
  expect(await environment.waitingIn(queue)).toBe(64);
  expect((await environment.takeOne(queue))?.content.toString().trim()).toBe("6");
});

test("Herald's topology names a queue that exists with other arguments in the log, and works once it is deleted", async () => {
  await environment.channel.assertQueue(environment.inboxQueue, { durable: true });
  const broker = environment.connect();
  broker.publisher();
  const ofPublisher = () => environment.logged.filter(({ fields }) => fields.what === "publisher");
  const refusals = () => ofPublisher().filter(({ fields }) => /406/.test(String(fields.reason)));
  await until("it was tried again", () => refusals().length >= 2);
  expect(refusals().filter(({ level }) => level === "warn")).toHaveLength(1);
  expect(refusals()[0]?.fields.reason).toContain(environment.inboxQueue);
  await environment.channel.deleteQueue(environment.inboxQueue);
  await broker.ready();
});
