import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { connectBroker } from "../../src/broker/broker.ts";
import { messageTo, useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

const lines = (wanted: string) => environment.logged.filter(({ level }) => level === wanted);

test("a broker waits for one that is not there yet, and says so once for each of its two connections", async () => {
  environment.proxy.refuse();
  const broker = environment.connect();
  const got = inbox();
  broker.consume({ queue: environment.inboxQueue, prefetch: 10, handle: got.handle });
  const sent = broker.publisher({ timeoutMs: 100_000 }).publish(messageTo(environment.inboxQueue, "early"));
  await until("it was tried a few times", () => lines("debug").length >= 4);
  expect(broker.isReady()).toBe(false);
  expect(lines("warn")).toHaveLength(2);

  environment.proxy.accept();
  await broker.ready();
  await sent;
  await until("the message came", () => got.messages.length === 1);
  got.messages[0]?.ack();
  expect(lines("info").map(({ fields }) => fields.what)).toEqual(
    expect.arrayContaining(["test (receiving)", "test (sending)"]),
  );
  expect(lines("warn")).toHaveLength(2);
});

test("a log of an outage shows which connection of the process it is, but not the password", async () => {
  const broker = environment.connect({ name: "herald-publisher" });
  await broker.ready();
  environment.proxy.refuse();
  await until("the loss was seen", () => !broker.isReady());
  const text = JSON.stringify(environment.logged);
  expect(text).toContain("herald-publisher (receiving)");
  expect(text).toContain(new URL(environment.proxy.url).host);
  expect(text).not.toContain("guest:guest");
});

test.each(["", "localhost:5672", "http://localhost", "amqp://"])("a broker's URL like %j fails at once", (url) => {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  expect(() => connectBroker({ url, namespace: "x", name: "x", log })).toThrow("must be of the form amqp://");
});

test("a broker that is closed ends what waits for it, and lets nothing start on it", async () => {
  environment.proxy.refuse();
  const broker = environment.connect();
  const refused = expect(broker.ready()).rejects.toThrow("closed before it was ready");
  await broker.close();
  await refused;
  await expect(broker.ready()).rejects.toThrow("has been closed");
  expect(() => broker.publisher()).toThrow("has been closed");
  environment.proxy.accept();
});

test("closing a broker that is away does not wait for an answer", async () => {
  const broker = environment.connect({ closeTimeoutMs: 600_000 });
  const consumer = broker.consume({ queue: environment.inboxQueue, prefetch: 10, handle: () => undefined });
  await broker.ready();
  environment.proxy.refuse();
  await until("the loss was seen", () => !broker.isReady());
  await consumer.close();
  await broker.close();
});
