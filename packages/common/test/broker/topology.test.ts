import { inbox, until } from "@herald/testkit/harness/client-environment";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { declareTopology } from "../../src/broker/topology.ts";
import { useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

describe("Herald's topology", () => {
  test("can be declared several times, also by several processes at once", async () => {
    const brokers = [1, 2, 3].map(() => environment.connect());
    for (const broker of brokers) broker.publisher();
    await Promise.all(brokers.map((broker) => broker.ready()));
    await declareTopology(environment.channel, environment.namespace);
  });

  test("takes every event to the inbox, whatever its type", async () => {
    await declareTopology(environment.channel, environment.namespace);
    for (const type of ["ProjectCreated", "some.other.type"]) {
      environment.channel.publish(environment.names.eventsExchange, type, Buffer.from(type), { mandatory: true });
    }
    await environment.channel.waitForConfirms();
    expect(await environment.take(environment.names.inboxQueue)).toEqual(["ProjectCreated", "some.other.type"]);
  });

  test("moves an event that comes back too often to the rejected queue, whole", async () => {
    const broker = environment.connect();
    const got = inbox();
    broker.consume({
      queue: environment.names.inboxQueue,
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
    expect(got.messages).toHaveLength(21);
    const moved = await environment.takeOne(environment.names.rejectedQueue);
    expect(moved?.content.toString()).toBe("poison");
    expect(moved?.properties.headers).toMatchObject({
      traceparent: "t",
      "x-first-death-reason": "delivery_limit",
      "x-first-death-queue": environment.names.inboxQueue,
    });
  });

  test("keeps a rejected event, however often it is read and requeued", async () => {
    await declareTopology(environment.channel, environment.namespace);
    await environment.put(environment.names.rejectedQueue, "look at me");
    for (let look = 0; look < 50; look++) {
      const message = await environment.channel.get(environment.names.rejectedQueue);
      if (message === false) throw new Error(`It was gone at look ${look}.`);
      environment.channel.nack(message, false, true);
    }
    expect(await environment.take(environment.names.rejectedQueue)).toEqual(["look at me"]);
  });

  test("drops a hint that comes back too often", async () => {
    const broker = environment.connect();
    let came = 0;
    broker.consume({
      queue: environment.names.firstHintsQueue,
      prefetch: 10,
      handle: (message) => {
        came++;
        message.requeue();
      },
    });
    await broker.ready();
    await environment.put(environment.names.firstHintsQueue, "hint");
    await until("it came for the last time", () => came === 21);
    await broker.close();
    expect(await environment.take(environment.names.firstHintsQueue)).toEqual([]);
    expect(await environment.waitingIn(environment.names.rejectedQueue)).toBe(0);
  });

  test("names a queue that exists with other arguments in the log, and works once it is deleted", async () => {
    await environment.channel.assertQueue(environment.names.inboxQueue, { durable: true });
    const broker = environment.connect();
    broker.publisher();
    const refusals = () => environment.logged.filter(({ fields }) => /406/.test(String(fields.reason)));
    await until("it was tried again", () => refusals().length >= 2);
    expect(refusals().filter(({ level }) => level === "warn")).toHaveLength(1);
    expect(refusals()[0]?.fields.reason).toContain(environment.names.inboxQueue);
    await environment.channel.deleteQueue(environment.names.inboxQueue);
    await broker.ready();
  });
});
