import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
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
