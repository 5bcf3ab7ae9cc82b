import { useBroker } from "@herald/testkit/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { declareTopology } from "../../src/broker/topology.ts";
import { inbox, until, useBench } from "./bench.ts";

const place = useBroker();
const bench = useBench(() => place.url);

describe("the topology", () => {
  test("is declared as often as one likes, also by several at once", async () => {
    const brokers = [1, 2, 3].map(() => bench.connect());
    for (const broker of brokers) broker.publisher();
    await Promise.all(brokers.map((broker) => broker.ready()));
    await declareTopology(bench.channel, bench.namespace);
  });

  test("every event reaches the inbox, whatever its type", async () => {
    await declareTopology(bench.channel, bench.namespace);
    for (const type of ["ProjectCreated", "some.other.type"]) {
      bench.channel.publish(bench.names.eventsExchange, type, Buffer.from(type), { mandatory: true });
    }
    await bench.channel.waitForConfirms();
    expect(await bench.take(bench.names.inboxQueue)).toEqual(["ProjectCreated", "some.other.type"]);
  });

  test("an event that comes back too often is moved to the rejected queue, whole", async () => {
    const broker = bench.connect();
    const got = inbox();
    broker.consume({
      queue: bench.names.inboxQueue,
      prefetch: 10,
      handle: (message) => {
        got.handle(message);
        message.requeue();
      },
    });
    await broker.ready();
    bench.channel.publish(bench.names.eventsExchange, "RiskCreated", Buffer.from("poison"), {
      headers: { traceparent: "t" },
    });
    await until("it was moved", async () => (await bench.waitingIn(bench.names.rejectedQueue)) === 1);
    expect(got.messages).toHaveLength(21);
    const moved = await bench.takeOne(bench.names.rejectedQueue);
    expect(moved?.content.toString()).toBe("poison");
    expect(moved?.properties.headers).toMatchObject({
      traceparent: "t",
      "x-first-death-reason": "delivery_limit",
      "x-first-death-queue": bench.names.inboxQueue,
    });
  });

  test("a rejected event outlives any number of looks at it", async () => {
    await declareTopology(bench.channel, bench.namespace);
    await bench.put(bench.names.rejectedQueue, "look at me");
    for (let look = 0; look < 50; look++) {
      const message = await bench.channel.get(bench.names.rejectedQueue);
      if (message === false) throw new Error(`It was gone at look ${look}.`);
      bench.channel.nack(message, false, true);
    }
    expect(await bench.take(bench.names.rejectedQueue)).toEqual(["look at me"]);
  });

  test("a hint that comes back too often is dropped", async () => {
    const broker = bench.connect();
    let came = 0;
    broker.consume({
      queue: bench.names.firstHintsQueue,
      prefetch: 10,
      handle: (message) => {
        came++;
        message.requeue();
      },
    });
    await broker.ready();
    await bench.put(bench.names.firstHintsQueue, "hint");
    await until("it came for the last time", () => came === 21);
    await broker.close();
    expect(await bench.take(bench.names.firstHintsQueue)).toEqual([]);
    expect(await bench.waitingIn(bench.names.rejectedQueue)).toBe(0);
  });

  test("a queue that exists with other arguments is named, and tried again until somebody has deleted it", async () => {
    await bench.channel.assertQueue(bench.names.inboxQueue, { durable: true });
    const broker = bench.connect();
    broker.publisher();
    const refusals = () => bench.logged.filter(({ fields }) => /406/.test(String(fields.reason)));
    await until("it was tried again", () => refusals().length >= 2);
    expect(refusals().filter(({ level }) => level === "warn")).toHaveLength(1);
    expect(refusals()[0]?.fields.reason).toContain(bench.names.inboxQueue);
    await bench.channel.deleteQueue(bench.names.inboxQueue);
    await broker.ready();
  });
});
