import { useBroker } from "@herald/testkit/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { connectBroker } from "../../src/broker/broker.ts";
import { inbox, messageTo, until, useBench } from "./bench.ts";

const place = useBroker();
const bench = useBench(() => place.url);

describe("the connection", () => {
  test("waits for a broker that is not there yet, and says so once for each of its two connections", async () => {
    bench.proxy.refuse();
    const broker = bench.connect();
    const got = inbox();
    broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: got.handle });
    const publisher = broker.publisher();
    const sent = publisher.publish(messageTo(bench.names.inboxQueue, "early"));
    const tries = () => bench.logged.filter(({ level }) => level === "debug").length;
    await until("it was tried a few times", () => tries() >= 4);
    expect(broker.isReady()).toBe(false);
    expect(bench.logged.filter(({ level }) => level === "warn")).toHaveLength(2);

    bench.proxy.accept();
    await broker.ready();
    await sent;
    await until("the message came", () => got.messages.length === 1);
    got.messages[0]?.ack();
    expect(bench.logged.filter(({ level }) => level === "info").map(({ fields }) => fields.what)).toEqual(
      expect.arrayContaining(["test (receiving)", "test (sending)"]),
    );
    expect(bench.logged.filter(({ level }) => level === "warn")).toHaveLength(2);
  });

  test("a broker that falls silent is left after some heartbeats", async () => {
    const url = new URL(bench.proxy.url);
    url.searchParams.set("heartbeat", "1");
    const broker = bench.connect({ url: url.href });
    await broker.ready();
    bench.proxy.holdAnswers();
    await until("the silence was noticed", () => !broker.isReady());
    expect(bench.logged.find(({ level }) => level === "warn")?.fields.reason).toMatch(/heartbeat/i);
    bench.proxy.release();
    await broker.ready();
  });

  test("closing does not wait for a broker that says nothing", async () => {
    const broker = bench.connect();
    broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: () => undefined });
    await broker.ready();
    bench.proxy.holdAnswers();
    const start = performance.now();
    const consumer = broker.consume({ queue: bench.names.firstHintsQueue, prefetch: 10, handle: () => undefined });
    await consumer.close({ drainTimeoutMs: 100 });
    expect(performance.now() - start).toBeLessThan(4_000);
  });

  test("shows who it is, and where, but not the password", async () => {
    const broker = bench.connect({ name: "herald-publisher" });
    await broker.ready();
    bench.proxy.refuse();
    await until("the loss was seen", () => !broker.isReady());
    const text = JSON.stringify(bench.logged);
    expect(text).toContain("herald-publisher (receiving)");
    expect(text).toContain(new URL(bench.proxy.url).host);
    expect(text).not.toContain("guest:guest");
  });

  test.each(["", "localhost:5672", "http://localhost", "amqp://"])("an address like %j fails at once", (url) => {
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    expect(() => connectBroker({ url, namespace: "x", name: "x", log })).toThrow("not of the form amqp://");
  });

  test("once closed, nobody waits for it or starts anything on it", async () => {
    bench.proxy.refuse();
    const broker = bench.connect();
    const waiting = broker.ready();
    const refused = expect(waiting).rejects.toThrow("closed before it was ready");
    await broker.close();
    await refused;
    await expect(broker.ready()).rejects.toThrow("has been closed");
    expect(() => broker.publisher()).toThrow("has been closed");
    bench.proxy.accept();
    // The bench deletes what a broker declared.
    await bench.connect().ready();
  });
});
