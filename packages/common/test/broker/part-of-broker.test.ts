import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { partOfBroker } from "../../src/broker/broker.ts";
import { messageTo, useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

test("a part of a broker that closes ends what was started on it, and leaves the connections to the others", async () => {
  const broker = environment.connect();
  const [first, second] = [partOfBroker(broker), partOfBroker(broker)];
  const [ended, going] = [inbox(), inbox()];
  const { inboxQueue } = environment;
  first.consume({ queue: inboxQueue, prefetch: 10, handle: ended.handle });
  const refused = first.publisher();
  await first.ready();
  await first.close();
  await expect(refused.publish(messageTo(inboxQueue, "late"))).rejects.toThrow("closed");

  second.consume({ queue: inboxQueue, prefetch: 10, handle: going.handle });
  await second.ready();
  await second.publisher().publish(messageTo(inboxQueue, "on"));
  await until("the message came", () => going.messages.length === 1);
  going.messages[0]?.ack();
  expect(ended.messages).toHaveLength(0);
  // Closing again does nothing.
  await first.close();
  expect(broker.isReady()).toBe(true);
});
