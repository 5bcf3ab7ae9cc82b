import { bogusAck } from "@herald/testkit/harness/broker-proxy";
import { inbox, until } from "@herald/testkit/harness/client-environment";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

function ask(text: string, timeoutMs = 5_000) {
  return { queue: environment.names.manualHintsQueue, content: Buffer.from(text), timeoutMs };
}

/** Another process, past the proxy, that answers with the capitals. */
function answerer() {
  const broker = environment.connect({ url: server.url, name: "answerer" });
  broker.consume({
    queue: environment.names.manualHintsQueue,
    prefetch: 10,
    handle: (message) => {
      message.reply(Buffer.from(message.content.toString().toUpperCase()));
      message.ack();
    },
  });
  return broker;
}

describe("requests", () => {
  test("each gets its own answer", async () => {
    const requester = environment.connect().requester();
    await answerer().ready();
    const answers = await Promise.all(["a", "b", "c"].map((text) => requester.request(ask(text))));
    expect(answers.map(String)).toEqual(["A", "B", "C"]);
  });

  test("with nobody there, the answer is undefined in time, and the request stays for later", async () => {
    const broker = environment.connect();
    const requester = broker.requester();
    await broker.ready();
    const start = performance.now();
    expect(await requester.request(ask("late", 400))).toBeUndefined();
    expect(performance.now() - start).toBeGreaterThanOrEqual(395);
    expect(await environment.waitingIn(environment.names.manualHintsQueue)).toBe(1);

    // Whoever answers by then answers nobody, which harms nobody.
    const late = answerer();
    await late.ready();
    await until("it was taken", async () => (await environment.waitingIn(environment.names.manualHintsQueue)) === 0);
    expect(String(await requester.request(ask("next")))).toBe("NEXT");
    expect(environment.logged.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("a queue that does not exist is known at once", async () => {
    const requester = environment.connect().requester();
    const start = performance.now();
    expect(await requester.request({ ...ask("x"), queue: "nowhere" })).toBeUndefined();
    expect(performance.now() - start).toBeLessThan(4_000);
  });

  test("one that is asked during an outage is answered after it", async () => {
    const broker = environment.connect();
    const requester = broker.requester();
    await Promise.all([broker.ready(), answerer().ready()]);
    environment.proxy.refuse();
    await until("the loss was seen", () => !broker.isReady());
    const answer = requester.request(ask("patience"));
    environment.proxy.accept();
    expect(String(await answer)).toBe("PATIENCE");
  });

  test.each([
    ["connection", () => environment.proxy.cut()],
    ["channel", () => environment.proxy.inject("(sending)", bogusAck(1))],
  ])("one that is under way when the %s dies ends undefined at once; the next is answered", async (_what, kill) => {
    const broker = environment.connect();
    const requester = broker.requester();
    const got = inbox();
    const answering = environment.connect({ url: server.url, name: "answerer" });
    const silent = answering.consume({ queue: environment.names.manualHintsQueue, prefetch: 10, handle: got.handle });
    await Promise.all([broker.ready(), answering.ready()]);
    const lost = requester.request(ask("lost", 60_000));
    await until("it was taken", () => got.messages.length === 1);
    kill();
    expect(await lost).toBeUndefined();
    got.messages[0]?.reply(Buffer.from("too late"));
    got.messages[0]?.ack();
    await silent.close();
    await answerer().ready();
    expect(String(await requester.request(ask("next")))).toBe("NEXT");
  });

  test("an answer during the answerer's own outage is dropped without a throw", async () => {
    const answering = environment.connect();
    const got = inbox();
    answering.consume({ queue: environment.names.manualHintsQueue, prefetch: 10, handle: got.handle });
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
    await until("it came again", () => got.messages.length === 2);
    got.messages[1]?.ack();
  });

  test("a message that names a queue for its answer gets none: only requesters do", async () => {
    const answering = answerer();
    const requester = answering.requester();
    await answering.ready();
    await environment.put(environment.names.manualHintsQueue, "for a queue", {
      replyTo: environment.names.rejectedQueue,
    });
    // Answers leave in order: once this one is here, the other would be where it was meant to go.
    expect(String(await requester.request(ask("next")))).toBe("NEXT");
    await environment.put(environment.names.rejectedQueue, "marker");
    expect(await environment.take(environment.names.rejectedQueue)).toEqual(["marker"]);
  });

  test("closing gives up what is under way", async () => {
    const broker = environment.connect();
    const requester = broker.requester();
    await broker.ready();
    const asked = requester.request(ask("x", 60_000));
    await requester.close();
    expect(await asked).toBeUndefined();
    expect(await requester.request(ask("y", 60_000))).toBeUndefined();
  });
});
