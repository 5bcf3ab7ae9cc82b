import { randomUUID } from "node:crypto";
import { inbox, until } from "@herald/dev/harness/client-environment";
import { bogusAck } from "@herald/dev/harness/link";
import { useBroker } from "@herald/dev/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

const OWNER = randomUUID();

function ask(text: string, timeoutMs = 60_000, routingKey = OWNER) {
  return { exchange: environment.names.requestsExchange, routingKey, content: Buffer.from(text), timeoutMs };
}

/** Another process, past the proxy, that answers with the capitals. */
function answerer(ownerId = OWNER) {
  const broker = environment.connect({ url: server.url, name: "answerer" });
  broker.consumeAsOwner(ownerId, {
    prefetch: 10,
    handle: (message) => {
      message.reply(Buffer.from(message.content.toString().toUpperCase()));
      message.ack();
    },
  });
  return broker;
}

describe("a requester", () => {
  test("a requester gets each request its own answer", async () => {
    const requester = environment.connect().requester();
    await answerer().ready();
    const answers = await Promise.all(["a", "b", "c"].map((text) => requester.request(ask(text))));
    expect(answers.map(String)).toEqual(["A", "B", "C"]);
  });

  test("a requester answers undefined in time if no answer comes, and a late answer does no harm", async () => {
    const broker = environment.connect();
    const requester = broker.requester();
    const got = inbox();
    const answering = environment.connect({ url: server.url, name: "answerer" });
    answering.consumeAsOwner(OWNER, { prefetch: 10, handle: got.handle });
    await Promise.all([broker.ready(), answering.ready()]);
    const start = performance.now();
    expect(await requester.request(ask("late", 400))).toBeUndefined();
    expect(performance.now() - start).toBeGreaterThanOrEqual(395);

    got.messages[0]?.reply(Buffer.from("LATE"));
    const next = requester.request(ask("next"));
    await until("it came", () => got.messages.length === 2);
    got.messages[1]?.reply(Buffer.from("NEXT"));
    expect(String(await next)).toBe("NEXT");
    for (const message of got.messages) message.ack();
    expect(environment.logged.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("a requester answers undefined at once if no queue takes the request", async () => {
    const requester = environment.connect().requester();
    // The timeout is longer than the test may take.
    expect(await requester.request(ask("x", 600_000))).toBeUndefined();
  });

  test("a requester sends a request that was made during an outage after it", async () => {
    const broker = environment.connect();
    const requester = broker.requester();
    await Promise.all([broker.ready(), answerer().ready()]);
    environment.proxy.refuse();
    await until("the loss was seen", () => !broker.isReady());
    const answer = requester.request(ask("patience", 100_000));
    environment.proxy.accept();
    expect(String(await answer)).toBe("PATIENCE");
  });

  test.each([
    ["connection", () => environment.proxy.cut()],
    ["channel", () => environment.proxy.inject("(sending)", bogusAck(1))],
  ])(
    "a requester answers undefined at once when the %s dies under a request, and the next request is answered",
    async (_what, kill) => {
      const broker = environment.connect();
      const requester = broker.requester();
      const got = inbox();
      const answering = environment.connect({ url: server.url, name: "answerer" });
      answering.consumeAsOwner(OWNER, { prefetch: 10, handle: got.handle });
      await Promise.all([broker.ready(), answering.ready()]);
      const lost = requester.request(ask("lost", 600_000));
      await until("it was taken", () => got.messages.length === 1);
      kill();
      expect(await lost).toBeUndefined();
      got.messages[0]?.reply(Buffer.from("too late"));
      got.messages[0]?.ack();
      const other = randomUUID();
      await answerer(other).ready();
      expect(String(await requester.request(ask("next", 60_000, other)))).toBe("NEXT");
    },
  );

  test("a requester gets no answer that was given during an outage of the answerer, which does not throw", async () => {
    const answering = environment.connect();
    const got = inbox();
    answering.consumeAsOwner(OWNER, { prefetch: 10, handle: got.handle });
    const asking = environment.connect({ url: server.url });
    const requester = asking.requester();
    await Promise.all([answering.ready(), asking.ready()]);
    const unanswered = requester.request(ask("x", 1_000));
    await until("it came", () => got.messages.length === 1);
    environment.proxy.refuse();
    await until("the loss was seen", () => !answering.isReady());
    got.messages[0]?.reply(Buffer.from("into the void"));
    expect(await unanswered).toBeUndefined();
    environment.proxy.accept();
    await answering.ready();
    const next = requester.request(ask("next"));
    await until("the next one came", () => got.messages.length === 2);
    got.messages[1]?.reply(Buffer.from("NEXT"));
    got.messages[1]?.ack();
    expect(String(await next)).toBe("NEXT");
  });

  test("a requester is the only one that gets answers: a message that names a queue for its answer gets none", async () => {
    const answering = answerer();
    const requester = answering.requester();
    await answering.ready();
    const { requestsExchange, rejectedQueue } = environment.names;
    environment.channel.publish(requestsExchange, OWNER, Buffer.from("for a queue"), { replyTo: rejectedQueue });
    await environment.channel.waitForConfirms();
    // Answers leave in order: when this one has arrived, the other would have arrived in its queue.
    expect(String(await requester.request(ask("next")))).toBe("NEXT");
    await environment.put(environment.names.rejectedQueue, "marker");
    expect(await environment.take(environment.names.rejectedQueue)).toEqual(["marker"]);
  });

  test("a requester gives up what is under way when it is closed", async () => {
    const broker = environment.connect();
    const requester = broker.requester();
    await broker.ready();
    const asked = requester.request(ask("x", 60_000));
    await requester.close();
    expect(await asked).toBeUndefined();
    expect(await requester.request(ask("y", 60_000))).toBeUndefined();
  });
});
