import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import type { IncomingMessage } from "../src/index.ts";
import { useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

describe("consumer", () => {
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

  test("a consumer's queues may have a prefetch each", async () => {
    const { queue, otherQueue } = environment.names;
    const prefetch = (name: string) => (name === queue ? 2 : 1);
    const { consumer, got } = await environment.consuming({ queue: [queue, otherQueue], prefetch });
    for (const text of ["a1", "a2", "a3"]) await environment.put(queue, text);
    for (const text of ["b1", "b2"]) await environment.put(otherQueue, text);
    await until("as many came as may", () => got.messages.length === 3);
    await consumer.close({ drainTimeoutMs: 0 });
    expect(got.texts().sort()).toEqual(["a1", "a2", "b1"]);
    await until("all are in their queue again", async () => (await environment.waitingIn(queue)) === 3);
    await until("all are in the other one again", async () => (await environment.waitingIn(otherQueue)) === 2);
  });

  test("while its messages are small a queue has another prefetch, until the next large one", async () => {
    const { queue } = environment.names;
    const unsettled: IncomingMessage[] = [];
    let count = 0;
    const { consumer } = await environment.consuming({
      prefetch: 2,
      whileSmall: { prefetch: () => 5, bytes: 10 },
      handle: (message) => {
        unsettled.push(message);
        count++;
      },
    });
    const came = (wanted: number) => until(`${wanted} came`, () => count === wanted);
    // Two begin; then five more may come.
    for (let number = 0; number < 10; number++) await environment.put(queue, "small");
    await came(7);
    for (const message of unsettled.splice(0)) message.ack();
    await came(10);
    for (const message of unsettled.splice(0)) message.ack();
    for (let number = 0; number < 9; number++) await environment.put(queue, "a large message");
    // At the most five by the prefetch for small ones, and two by the other.
    await until("no more come", async () => (await environment.waitingIn(queue)) >= 2);
    for (const message of unsettled.splice(0)) message.ack();
    await until("the last ones come two at a time", async () => {
      if (unsettled.length > 2) throw new Error(`${unsettled.length} came at once`);
      for (const message of unsettled.splice(0)) message.ack();
      return count === 19;
    });
    await consumer.close();
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

  test("a consumer settles messages in any order, each once and by its own verdict", async () => {
    const total = 2_000;
    const settled = new Map<string, string>();
    let done = 0;
    const { broker } = await environment.consuming({
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
    for (let number = 0; number < total; number++) {
      environment.channel.sendToQueue(environment.names.queue, Buffer.from(String(number)));
    }
    await until("all were settled", () => done >= total);
    await broker.close();

    expect(done).toBe(total);
    expect(await environment.take(environment.names.queue)).toEqual([]);
    await until(
      "the rejected were moved",
      async () => (await environment.waitingIn(environment.names.deadLetterQueue)) === total / 10,
    );
    const rejected = await environment.take(environment.names.deadLetterQueue);
    expect(rejected.every((text) => Number(text) % 10 === 7)).toBe(true);
    expect(environment.logged.filter(({ level }) => level !== "debug")).toEqual([]);
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
});
