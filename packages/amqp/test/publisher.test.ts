import { useBroker } from "@herald/testkit/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { NotSentError, type NotSentReason } from "../../src/broker/errors.ts";
import { messageTo, until, useBench } from "./bench.ts";
import { bogusAck } from "./proxy.ts";

const place = useBroker();
const bench = useBench(() => place.url);

/** How each publish ended: "sent", or the reason why not. */
async function outcomes(publishes: Promise<void>[]): Promise<("sent" | NotSentReason)[]> {
  const settled = await Promise.allSettled(publishes);
  return settled.map((result) => {
    if (result.status === "fulfilled") return "sent";
    if (result.reason instanceof NotSentError) return result.reason.reason;
    throw result.reason;
  });
}

function many(count: number, start: () => Promise<void>): Promise<void>[] {
  return Array.from({ length: count }, start);
}

describe("publishing", () => {
  test("resolves when the broker has the message, in order, with its properties", async () => {
    const publisher = bench.connect().publisher();
    const queue = bench.names.firstHintsQueue;
    await publisher.publish({
      ...messageTo(queue, "one"),
      headers: { traceparent: "t" },
      correlationId: "c",
      replyTo: "r",
    });
    await Promise.all(many(3, () => publisher.publish(messageTo(queue, "more"))));
    const first = await bench.takeOne(queue);
    expect(first?.content.toString()).toBe("one");
    expect(first?.properties).toMatchObject({
      headers: { traceparent: "t" },
      correlationId: "c",
      replyTo: "r",
      deliveryMode: 2,
      contentType: "application/json",
    });
    expect(await bench.take(queue)).toEqual(["more", "more", "more"]);
  });

  test("a message that no queue takes is not sent, unless nobody has to care", async () => {
    const publisher = bench.connect().publisher();
    const notice = {
      exchange: bench.names.noticesExchange,
      routingKey: "endpoint.disabled",
      content: Buffer.from("{}"),
    };
    const sending = [
      publisher.publish(notice),
      publisher.publish({ ...notice, mandatory: false }),
      publisher.publish(notice),
    ];
    expect(await outcomes(sending)).toEqual(["returned", "sent", "returned"]);
    await expect(publisher.publish(notice)).rejects.toThrow(
      `The message to ${bench.names.noticesExchange} (endpoint.disabled) was not sent: no queue takes it (NO_ROUTE).`,
    );
  });

  test("a message that its queue has no room for is refused", async () => {
    const queue = `${bench.namespace}.full`;
    const full = { "x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish" };
    await bench.channel.assertQueue(queue, { durable: true, arguments: full });
    const publisher = bench.connect().publisher({ window: 1 });
    // Quorum queues look at their length now and then, so a few more than one may get in.
    const ends = await outcomes(many(50, () => publisher.publish(messageTo(queue, "x"))));
    expect(ends[0]).toBe("sent");
    expect(ends.at(-1)).toBe("refused");
    await bench.channel.deleteQueue(queue);
  });

  test("content or headers that can't be sent are the caller's error, and harm no other message", async () => {
    const publisher = bench.connect().publisher();
    const queue = bench.names.firstHintsQueue;
    const tooLarge = publisher.publish({ ...messageTo(queue, "x"), headers: { huge: "x".repeat(100_000) } });
    await expect(tooLarge).rejects.toThrow(RangeError);
    expect(await outcomes([publisher.publish(messageTo(queue, "fine"))])).toEqual(["sent"]);
  });
});

describe("the window", () => {
  test("bounds what is on its way to the broker", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher({ window: 20 });
    await broker.ready();
    const queue = bench.names.firstHintsQueue;
    bench.proxy.holdAnswers();
    const sending = many(100, () => publisher.publish(messageTo(queue, "x")));
    await until("the window was sent", async () => (await bench.waitingIn(queue)) === 20);
    // Long enough for any more to arrive, were they sent: the whole window took less.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await bench.waitingIn(queue)).toBe(20);
    bench.proxy.release();
    expect(new Set(await outcomes(sending))).toEqual(new Set(["sent"]));
    expect(await bench.take(queue)).toHaveLength(100);
  });

  test("large messages beyond what the socket takes wait, not yet copied, for it to drain, and all arrive", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher({ window: 100_000 });
    await broker.ready();
    const queue = bench.names.firstHintsQueue;
    const content = Buffer.alloc(50_000, "x");
    bench.proxy.holdRequests();
    const before = process.memoryUsage().arrayBuffers;
    const sending = many(3_000, () => publisher.publish({ exchange: "", routingKey: queue, content }));
    const held = process.memoryUsage().arrayBuffers - before;
    expect(held).toBeLessThan(60_000_000);
    bench.proxy.release();
    expect(new Set(await outcomes(sending))).toEqual(new Set(["sent"]));
    expect(await bench.waitingIn(queue)).toBe(3_000);
  });
});

describe("not confirmed", () => {
  test("a confirm that is late leaves the message not sent and its place in the window taken until it comes", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher({ window: 2, timeoutMs: 200 });
    await broker.ready();
    bench.proxy.holdAnswers();
    const queue = bench.names.firstHintsQueue;
    expect(await outcomes(many(3, () => publisher.publish(messageTo(queue, "x"))))).toEqual([
      "unconfirmed",
      "unconfirmed",
      "unavailable",
    ]);
    await expect(publisher.publish(messageTo(queue, "x"))).rejects.toThrow("no place in the window of 2 for 200 ms");
    bench.proxy.release();
    await until(
      "there is room again",
      async () => (await outcomes([publisher.publish(messageTo(queue, "y"))]))[0] === "sent",
    );
  });

  test("what is in flight when the connection dies is not sent, though it arrived; the next message is sent", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher();
    await broker.ready();
    const queue = bench.names.firstHintsQueue;
    bench.proxy.holdAnswers();
    const inFlight = many(3, () => publisher.publish(messageTo(queue, "x")));
    await until("the broker has them", async () => (await bench.waitingIn(queue)) === 3);
    bench.proxy.cut();
    bench.proxy.release();
    expect(await outcomes(inFlight)).toEqual(["channel-closed", "channel-closed", "channel-closed"]);
    expect(await outcomes([publisher.publish(messageTo(queue, "y"))])).toEqual(["sent"]);
  });

  test("what is in flight when the channel dies is not sent; the next message is", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher();
    await broker.ready();
    const queue = bench.names.firstHintsQueue;
    bench.proxy.holdAnswers();
    bench.proxy.inject("(sending)", bogusAck(1));
    const inFlight = many(3, () => publisher.publish(messageTo(queue, "x")));
    bench.proxy.release();
    expect(await outcomes(inFlight)).toEqual(["channel-closed", "channel-closed", "channel-closed"]);
    expect(await outcomes([publisher.publish(messageTo(queue, "y"))])).toEqual(["sent"]);
    expect(await bench.take(queue)).toEqual(["y"]);
  });

  test("an exchange that does not exist closes the channel (404); the publisher opens the next", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher();
    await broker.ready();
    const lost = publisher.publish({ exchange: "nowhere", routingKey: "x", content: Buffer.from("x") });
    const queue = bench.names.firstHintsQueue;
    expect(await outcomes([lost])).toEqual(["channel-closed"]);
    expect(await outcomes([publisher.publish(messageTo(queue, "y"))])).toEqual(["sent"]);
    const warnings = bench.logged.filter(({ level }) => level === "warn");
    expect(warnings.map(({ fields }) => fields.reason)).toEqual([expect.stringContaining("404")]);
  });

  test("a message waits for the connection to come back, up to its deadline", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher({ timeoutMs: 300 });
    const patient = broker.publisher();
    await broker.ready();
    bench.proxy.refuse();
    await until("the loss was seen", () => !broker.isReady());
    const queue = bench.names.firstHintsQueue;
    const waiting = patient.publish(messageTo(queue, "waited"));
    await expect(publisher.publish(messageTo(queue, "x"))).rejects.toThrow("no connection to the broker for 300 ms");
    bench.proxy.accept();
    expect(await outcomes([waiting])).toEqual(["sent"]);
    expect(await bench.take(queue)).toEqual(["waited"]);
  });
});

describe("closing a publisher", () => {
  test("waits for what is under way and takes no more", async () => {
    const broker = bench.connect();
    const publisher = broker.publisher({ window: 5 });
    await broker.ready();
    const queue = bench.names.firstHintsQueue;
    const sending = many(50, () => publisher.publish(messageTo(queue, "x")));
    const closing = publisher.close();
    expect(await outcomes([publisher.publish(messageTo(queue, "late"))])).toEqual(["closed"]);
    await closing;
    expect(new Set(await outcomes(sending))).toEqual(new Set(["sent"]));
    expect(await bench.take(queue)).toHaveLength(50);
  });
});
