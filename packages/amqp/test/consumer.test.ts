import { useBroker } from "@herald/testkit/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import type { IncomingMessage } from "../../src/broker/consumer.ts";
import { NotSentError } from "../../src/broker/errors.ts";
import { inbox, until, useBench } from "./bench.ts";
import { bogusAck } from "./proxy.ts";

const place = useBroker();
const bench = useBench(() => place.url);

describe("consuming", () => {
  test("an acknowledged message is gone, with its properties seen", async () => {
    const broker = bench.connect();
    const got = inbox();
    const consumer = broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    await broker.ready();
    bench.channel.publish(bench.names.eventsExchange, "RiskCreated", Buffer.from("one"), {
      headers: { traceparent: "t" },
    });
    await until("the message came", () => got.messages.length === 1);
    const [message] = got.messages as [IncomingMessage];
    expect(message).toMatchObject({ routingKey: "RiskCreated", headers: { traceparent: "t" }, redelivered: false });

    message.ack();
    message.ack();
    await consumer.close();
    expect(await bench.take(bench.names.inboxQueue)).toEqual([]);
  });

  test("messages settled in any order are each settled once and as told", async () => {
    const broker = bench.connect();
    const total = 2_000;
    const settled = new Map<string, string>();
    let done = 0;
    broker.consume({
      queue: bench.names.inboxQueue,
      prefetch: 100,
      handle: (message) => {
        const text = message.content.toString();
        const number = Number(text);
        setTimeout(() => {
          if (number % 10 === 3 && !settled.has(text)) {
            settled.set(text, "requeued");
            message.requeue();
          } else {
            if (number % 10 === 7) message.reject();
            else message.ack();
            settled.set(text, number % 10 === 7 ? "rejected" : "acknowledged");
            done++;
          }
        }, Math.random() * 20);
      },
    });
    await broker.ready();
    for (let number = 0; number < total; number++) {
      bench.channel.sendToQueue(bench.names.inboxQueue, Buffer.from(String(number)));
    }
    await until("all were settled", () => done >= total);
    await broker.close();

    expect(done).toBe(total);
    expect(await bench.take(bench.names.inboxQueue)).toEqual([]);
    await until(
      "the rejected were moved",
      async () => (await bench.waitingIn(bench.names.rejectedQueue)) === total / 10,
    );
    const rejected = await bench.take(bench.names.rejectedQueue);
    expect(rejected.every((text) => Number(text) % 10 === 7)).toBe(true);
    expect(bench.logged.filter(({ level }) => level !== "debug")).toEqual([]);
  });

  test("a handler that throws or rejects gets its message again, and costs nobody else anything", async () => {
    const broker = bench.connect();
    const got = inbox();
    let failures = 0;
    broker.consume({
      queue: bench.names.inboxQueue,
      prefetch: 10,
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
    await broker.ready();
    await bench.put(bench.names.inboxQueue, "bad");
    await bench.put(bench.names.inboxQueue, "good");
    await until("both came", () => got.messages.length === 2);
    expect(got.texts()).toEqual(["good", "bad"]);
    expect(got.messages[1]?.redelivered).toBe(false);
    expect(bench.logged.find(({ level }) => level === "error")?.fields.error).toEqual(new Error("thrown"));
    expect(bench.logged.filter(({ message }) => message.includes("works again"))).not.toHaveLength(0);
  });

  test("a handler that can't work for a while costs no message its delivery limit, and is said once", async () => {
    const broker = bench.connect();
    const got = inbox();
    let databaseIsAway = true;
    let failures = 0;
    broker.consume({
      queue: bench.names.inboxQueue,
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
    await broker.ready();
    for (let number = 0; number < 30; number++) await bench.put(bench.names.inboxQueue, String(number));
    await until("each failed a few times", () => failures >= 90);
    databaseIsAway = false;
    await until("all were handled", () => got.messages.length === 30);
    expect(got.messages.some(({ redelivered }) => redelivered)).toBe(false);
    expect(await bench.waitingIn(bench.names.rejectedQueue)).toBe(0);
    expect(bench.logged.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  test("a message that its handler settled before it threw is not handed over again", async () => {
    const broker = bench.connect();
    const got = inbox();
    broker.consume({
      queue: bench.names.inboxQueue,
      prefetch: 10,
      handle: (message) => {
        got.handle(message);
        message.ack();
        throw new Error("too late");
      },
    });
    await broker.ready();
    for (const text of ["a", "b", "c"]) await bench.put(bench.names.inboxQueue, text);
    await until("the last failed", () => got.messages.length === 3);
    await broker.close();
    expect(got.texts()).toEqual(["a", "b", "c"]);
    expect(await bench.take(bench.names.inboxQueue)).toEqual([]);
  });
});

describe("the three deaths", () => {
  test("connection: what was not settled comes again, and settling the old copies does nothing", async () => {
    const broker = bench.connect();
    const got = inbox();
    broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    await broker.ready();
    await bench.put(bench.names.inboxQueue, "one");
    await until("it came", () => got.messages.length === 1);

    bench.proxy.cut();
    await until("the loss was seen", () => !broker.isReady());
    await until("it came again", () => got.messages.length === 2);
    const [old, again] = got.messages as [IncomingMessage, IncomingMessage];
    expect(again.redelivered).toBe(true);
    old.ack();
    old.reject();
    again.ack();
    await bench.put(bench.names.inboxQueue, "two");
    await until("the next came", () => got.messages.length === 3);
    got.messages[2]?.ack();
    await broker.close();
    expect(await bench.take(bench.names.inboxQueue)).toEqual([]);
    expect(await bench.take(bench.names.rejectedQueue)).toEqual([]);
  });

  test("channel: a 406 is answered with a new channel, and said once", async () => {
    const broker = bench.connect();
    const got = inbox();
    broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    await broker.ready();
    await bench.put(bench.names.inboxQueue, "one");
    await until("it came", () => got.messages.length === 1);

    bench.proxy.inject("(receiving)", bogusAck(1));
    await until("it came again", () => got.messages.length === 2);
    got.messages[0]?.ack();
    got.messages[1]?.ack();
    await broker.ready();
    await broker.close();
    expect(await bench.take(bench.names.inboxQueue)).toEqual([]);
    const warnings = bench.logged.filter(({ level }) => level === "warn");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.fields.reason).toMatch(/406.*PRECONDITION/i);
    expect(bench.logged.filter(({ level }) => level === "info")).toHaveLength(1);
  });

  test("cancellation: a queue that is deleted is declared and consumed again", async () => {
    const broker = bench.connect();
    const got = inbox();
    broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    await broker.ready();

    await bench.channel.deleteQueue(bench.names.inboxQueue);
    await until("the loss was seen", () => !broker.isReady());
    await broker.ready();
    bench.channel.publish(bench.names.eventsExchange, "RiskCreated", Buffer.from("after"));
    await until("the next event came", () => got.messages.length === 1);
    expect(got.texts()).toEqual(["after"]);
    got.messages[0]?.ack();
  });

  test("one after the other, again and again, no message is lost", async () => {
    const broker = bench.connect();
    const seen = new Set<string>();
    broker.consume({
      queue: bench.names.inboxQueue,
      prefetch: 50,
      handle: (message) =>
        void setImmediate(() => {
          seen.add(message.content.toString());
          message.ack();
        }),
    });
    const publisher = broker.publisher();
    await broker.ready();
    const total = 600;
    let sent = 0;
    const sending = (async () => {
      for (let number = 0; number < total; number++) {
        const content = Buffer.from(String(number));
        for (;;) {
          try {
            await publisher.publish({ exchange: bench.names.eventsExchange, routingKey: "RiskCreated", content });
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
      if (share % 2 === 0) bench.proxy.inject("(receiving)", bogusAck(1));
      else bench.proxy.cut();
    }
    await sending;
    await until("all came", () => seen.size === total);
  });
});

describe("closing a consumer", () => {
  test("waits for what was handed out, and leaves the rest to the queue", async () => {
    const broker = bench.connect();
    const got = inbox();
    await broker.ready();
    const consumer = broker.consume({ queue: bench.names.inboxQueue, prefetch: 2, handle: got.handle });
    await broker.ready();
    for (const text of ["a", "b", "c"]) await bench.put(bench.names.inboxQueue, text);
    await until("two came", () => got.messages.length === 2);

    let closed = false;
    const closing = consumer.close().then(() => {
      closed = true;
    });
    got.messages[0]?.ack();
    await until(
      "the first was acknowledged, and the third not handed out",
      async () => (await bench.waitingIn(bench.names.inboxQueue)) === 1,
    );
    expect(closed).toBe(false);
    got.messages[1]?.ack();
    await closing;
    expect(got.texts()).toEqual(["a", "b"]);
    expect(await bench.take(bench.names.inboxQueue)).toEqual(["c"]);
  });

  test("gives up on the unsettled after its deadline, and the queue has them again", async () => {
    const broker = bench.connect();
    const got = inbox();
    const consumer = broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    await broker.ready();
    await bench.put(bench.names.inboxQueue, "held");
    await until("it came", () => got.messages.length === 1);
    await consumer.close({ drainTimeoutMs: 50 });
    got.messages[0]?.ack();
    await until("it went back", async () => (await bench.waitingIn(bench.names.inboxQueue)) === 1);
  });

  test("leaves to the queue what was on its way already", async () => {
    const broker = bench.connect();
    const got = inbox();
    const consumer = broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    await broker.ready();
    bench.proxy.holdAnswers();
    await bench.put(bench.names.inboxQueue, "on its way");
    await until("it was sent off", async () => (await bench.waitingIn(bench.names.inboxQueue)) === 0);
    const closing = consumer.close();
    bench.proxy.release();
    await closing;
    expect(got.texts()).toEqual([]);
    await until("it went back", async () => (await bench.waitingIn(bench.names.inboxQueue)) === 1);
  });

  test("gives back at once what waits for its handler's next try", async () => {
    const broker = bench.connect();
    let tries = 0;
    const consumer = broker.consume({
      queue: bench.names.inboxQueue,
      prefetch: 10,
      handle: () => {
        tries++;
        throw new Error("not now");
      },
    });
    await broker.ready();
    await bench.put(bench.names.inboxQueue, "patience");
    // The next pause is the fifth, of a second and a half.
    await until("it was tried often", () => tries === 4);
    const start = performance.now();
    await consumer.close();
    expect(performance.now() - start).toBeLessThan(500);
    expect(tries).toBe(4);
    await until("it went back", async () => (await bench.waitingIn(bench.names.inboxQueue)) === 1);
  });

  test("stops waiting when the channel dies meanwhile: there is nothing left to settle", async () => {
    const broker = bench.connect();
    const got = inbox();
    const consumer = broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    await broker.ready();
    await bench.put(bench.names.inboxQueue, "held");
    await until("it came", () => got.messages.length === 1);
    const start = performance.now();
    const closing = consumer.close({ drainTimeoutMs: 20_000 });
    await bench.put(bench.names.inboxQueue, "next");
    await until("the consumer takes no more", async () => (await bench.waitingIn(bench.names.inboxQueue)) === 1);
    bench.proxy.cut();
    await closing;
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test.each([0, 2, 4, 6, 8, 10, 15, 20])("ends one that has been starting for %d ms, too", async (afterMs) => {
    const broker = bench.connect();
    broker.publisher();
    await broker.ready();
    const consumer = broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: () => undefined });
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    const start = performance.now();
    await consumer.close();
    expect(performance.now() - start).toBeLessThan(1_500);
    const consumers = async () => (await bench.channel.checkQueue(bench.names.inboxQueue)).consumerCount;
    await until("the queue has no consumer", async () => (await consumers()) === 0);
  });

  test("does not wait for a broker that is away", async () => {
    const broker = bench.connect();
    const consumer = broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: () => undefined });
    await broker.ready();
    bench.proxy.refuse();
    await until("the loss was seen", () => !broker.isReady());
    const start = performance.now();
    await consumer.close();
    await broker.close();
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  test("frees readiness of it", async () => {
    const broker = bench.connect();
    await broker.ready();
    const consumer = broker.consume({ queue: "nowhere", prefetch: 10, handle: () => undefined });
    await until("the missing queue was said", () =>
      bench.logged.some(({ fields }) => /404/.test(String(fields.reason))),
    );
    expect(broker.isReady()).toBe(false);
    await consumer.close();
    expect(broker.isReady()).toBe(true);
  });
});
