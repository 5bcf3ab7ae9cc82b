import { until } from "@herald/dev/harness/client-environment";
import { bogusAck } from "@herald/dev/harness/link";
import { useBroker } from "@herald/dev/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { NotSentError, type NotSentReason } from "../src/index.ts";
import { messageTo, useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

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

test("publish resolves when the broker has the message, and messages arrive in order, with their properties", async () => {
  const publisher = environment.connect().publisher();
  const queue = environment.names.otherQueue;
  await publisher.publish({
    ...messageTo(queue, "one"),
    headers: { traceparent: "t" },
    messageId: "m",
    type: "t",
  });
  await Promise.all(many(3, () => publisher.publish(messageTo(queue, "more"))));
  const first = await environment.takeOne(queue);
  expect(first?.content.toString()).toBe("one");
  expect(first?.properties).toMatchObject({
    headers: { traceparent: "t" },
    messageId: "m",
    type: "t",
    deliveryMode: 2,
    contentType: "application/json",
  });
  expect(await environment.take(queue)).toEqual(["more", "more", "more"]);
});

test("publish rejects for a message that no queue takes, unless the message is not mandatory", async () => {
  const publisher = environment.connect().publisher();
  const notice = {
    exchange: environment.names.unboundExchange,
    routingKey: "endpoint.disabled",
    content: Buffer.from("{}"),
  };
  const sending = [
    publisher.publish(notice),
    publisher.publish({ ...notice, mandatory: false }),
    publisher.publish(notice),
  ];
  expect(await outcomes(sending)).toEqual(["unroutable", "sent", "unroutable"]);
  await expect(publisher.publish(notice)).rejects.toThrow(
    `The message to ${environment.names.unboundExchange} (endpoint.disabled) was not sent: no queue takes it (NO_ROUTE).`,
  );
});

test("publish rejects for a message that its queue has no room for", async () => {
  const queue = `${environment.namespace}.full`;
  const full = { "x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish" };
  await environment.channel.assertQueue(queue, { durable: true, arguments: full });
  const publisher = environment.connect().publisher({ maxUnconfirmed: 1 });
  // Quorum queues look at their length now and then, so a few more than one may get in.
  const ends = await outcomes(many(50, () => publisher.publish(messageTo(queue, "x"))));
  expect(ends[0]).toBe("sent");
  expect(ends.at(-1)).toBe("refused");
  await environment.channel.deleteQueue(queue);
});

test("publish rejects with the caller's error for headers that can't be encoded, and sends other messages", async () => {
  const publisher = environment.connect().publisher();
  const queue = environment.names.otherQueue;
  const tooLarge = publisher.publish({ ...messageTo(queue, "x"), headers: { huge: "x".repeat(100_000) } });
  await expect(tooLarge).rejects.toThrow(RangeError);
  expect(await outcomes([publisher.publish(messageTo(queue, "fine"))])).toEqual(["sent"]);
});

test("the window bounds how many messages are on their way to the broker", async () => {
  const { publisher } = await environment.publishing({ maxUnconfirmed: 20 });
  const queue = environment.names.otherQueue;
  environment.proxy.holdAnswers();
  const sending = many(100, () => publisher.publish(messageTo(queue, "x")));
  await until("the window was sent", async () => (await environment.waitingIn(queue)) === 20);
  // A fixed wait, to prove an absence: any more messages would arrive in this time, as the whole window did.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await environment.waitingIn(queue)).toBe(20);
  environment.proxy.release();
  expect(new Set(await outcomes(sending))).toEqual(new Set(["sent"]));
  expect(await environment.take(queue)).toHaveLength(100);
});

test("large messages wait without a copy while the socket is full, and all of them arrive", async () => {
  const { publisher } = await environment.publishing({ maxUnconfirmed: 100_000, timeoutMs: 10 * 60_000 });
  const queue = environment.names.otherQueue;
  const content = Buffer.alloc(50_000, "x");
  environment.proxy.holdRequests();
  const before = process.memoryUsage().arrayBuffers;
  const sending = many(3_000, () => publisher.publish({ exchange: "", routingKey: queue, content }));
  const held = process.memoryUsage().arrayBuffers - before;
  expect(held).toBeLessThan(60_000_000);
  environment.proxy.release();
  expect(new Set(await outcomes(sending))).toEqual(new Set(["sent"]));
  expect(await environment.waitingIn(queue)).toBe(3_000);
});

test("a message counts as not sent when its confirm is late, and stays in the window until the confirm comes", async () => {
  const { publisher } = await environment.publishing({ maxUnconfirmed: 2, timeoutMs: 200 });
  environment.proxy.holdAnswers();
  const queue = environment.names.otherQueue;
  expect(await outcomes(many(3, () => publisher.publish(messageTo(queue, "x"))))).toEqual([
    "unconfirmed",
    "unconfirmed",
    "unavailable",
  ]);
  await expect(publisher.publish(messageTo(queue, "x"))).rejects.toThrow(
    "the window of 2 unconfirmed messages stayed full (waited 200 ms)",
  );
  environment.proxy.release();
  await until(
    "there is room again",
    async () => (await outcomes([publisher.publish(messageTo(queue, "y"))]))[0] === "sent",
  );
});

test("a message counts as not sent when the connection dies, though it arrived, and the next message is sent", async () => {
  const { publisher } = await environment.publishing();
  const queue = environment.names.otherQueue;
  environment.proxy.holdAnswers();
  const inFlight = many(3, () => publisher.publish(messageTo(queue, "x")));
  await until("the broker has them", async () => (await environment.waitingIn(queue)) === 3);
  environment.proxy.cut();
  environment.proxy.release();
  expect(await outcomes(inFlight)).toEqual(["channel-closed", "channel-closed", "channel-closed"]);
  expect(await outcomes([publisher.publish(messageTo(queue, "y"))])).toEqual(["sent"]);
});

test("a message counts as not sent when its exchange does not exist, and the publisher opens the next channel", async () => {
  const { publisher } = await environment.publishing();
  const lost = publisher.publish({ exchange: "nowhere", routingKey: "x", content: Buffer.from("x") });
  const queue = environment.names.otherQueue;
  expect(await outcomes([lost])).toEqual(["channel-closed"]);
  expect(await outcomes([publisher.publish(messageTo(queue, "y"))])).toEqual(["sent"]);
  const warnings = environment.logged.filter(({ level }) => level === "warn");
  expect(warnings.map(({ fields }) => fields.reason)).toEqual([expect.stringContaining("404")]);
});

test("a message waits for the connection to come back, up to its deadline", async () => {
  const broker = environment.connect();
  const publisher = broker.publisher({ timeoutMs: 300 });
  const patient = broker.publisher({ timeoutMs: 100_000 });
  await broker.ready();
  environment.proxy.refuse();
  await until("the loss was seen", () => !broker.isReady());
  const queue = environment.names.otherQueue;
  const waiting = patient.publish(messageTo(queue, "waited"));
  await expect(publisher.publish(messageTo(queue, "x"))).rejects.toThrow(
    /the broker can't be reached \(.+\) \(waited 300 ms\)/,
  );
  environment.proxy.accept();
  expect(await outcomes([waiting])).toEqual(["sent"]);
  expect(await environment.take(queue)).toEqual(["waited"]);
});

test.each([
  ["connection", () => environment.proxy.cut()],
  ["channel", () => environment.proxy.inject("test", bogusAck(1))],
])(
  "messages that are unconfirmed when the %s dies are sent again, in order and before later ones",
  async (_what, kill) => {
    const { publisher } = await environment.publishing({
      onChannelLost: "resend",
      maxUnconfirmed: 2,
      timeoutMs: 100_000,
    });
    const queue = environment.names.otherQueue;
    environment.proxy.holdAnswers();
    const sending = ["a", "b", "c", "d"].map((text) => publisher.publish(messageTo(queue, text)));
    await until("the broker has the window", async () => (await environment.waitingIn(queue)) === 2);
    kill();
    environment.proxy.release();
    expect(await outcomes(sending)).toEqual(["sent", "sent", "sent", "sent"]);
    const taken = await environment.take(queue);
    expect(taken.slice(-4)).toEqual(["a", "b", "c", "d"]);
    expect(taken.slice(0, 2)).toEqual(["a", "b"]);
  },
);

test("a publisher that resends gives up each message at its deadline", async () => {
  const scope = environment.connect();
  const publisher = scope.publisher({ onChannelLost: "resend", timeoutMs: 1_000 });
  const queue = environment.names.otherQueue;
  await until("one was sent", async () => (await outcomes([publisher.publish(messageTo(queue, "x"))]))[0] === "sent");
  environment.proxy.holdAnswers();
  const lost = publisher.publish(messageTo(queue, "y"));
  const refused = expect(lost).rejects.toThrow("the broker can't be reached");
  environment.proxy.refuse();
  await refused;
});

describe("unroutableGraceMs", () => {
  test("a publisher sends a message that no queue took once more, and a queue that was bound meanwhile takes it", async () => {
    const scope = environment.connect();
    // The pause is long enough for the binding, and the first try comes before it: the test waits for its return.
    const publisher = scope.publisher({ unroutableGraceMs: 3_000, timeoutMs: 100_000 });
    const patient = scope.publisher();
    await scope.ready();
    const { unboundExchange, otherQueue } = environment.names;
    const message = { exchange: unboundExchange, routingKey: "x", content: Buffer.from("x") };
    const sending = publisher.publish(message);
    expect(await outcomes([patient.publish(message)])).toEqual(["unroutable"]);
    await environment.channel.bindQueue(otherQueue, unboundExchange, "#");
    expect(await outcomes([sending])).toEqual(["sent"]);
    expect(await environment.take(otherQueue)).toEqual(["x"]);
  });

  test("a message that no queue takes the second time either is not sent", async () => {
    const publisher = environment.connect().publisher({ unroutableGraceMs: 10 });
    const message = { exchange: environment.names.unboundExchange, routingKey: "x", content: Buffer.from("x") };
    expect(await outcomes([publisher.publish(message)])).toEqual(["unroutable"]);
  });
});

test("closing a publisher waits for the messages under way, and accepts no more", async () => {
  const { publisher } = await environment.publishing({ maxUnconfirmed: 5 });
  const queue = environment.names.otherQueue;
  const sending = many(50, () => publisher.publish(messageTo(queue, "x")));
  const closing = publisher.close();
  expect(await outcomes([publisher.publish(messageTo(queue, "late"))])).toEqual(["closed"]);
  await closing;
  expect(new Set(await outcomes(sending))).toEqual(new Set(["sent"]));
  expect(await environment.take(queue)).toHaveLength(50);
});
