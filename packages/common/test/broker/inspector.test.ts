import { until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { useBrokerEnvironment } from "./use-broker-environment.ts";

const server = useBroker();
const environment = useBrokerEnvironment(() => server.url);

test("an inspector says how many messages wait, and for how many consumers", async () => {
  const broker = environment.connect();
  const inspector = broker.inspector();
  await broker.ready();
  expect(await inspector.depthOf(environment.names.rejectedQueue)).toEqual({ messages: 0, consumers: 0 });
  await environment.put(environment.names.rejectedQueue, "one");
  await environment.put(environment.names.rejectedQueue, "two");
  await until(
    "both are counted",
    async () => (await inspector.depthOf(environment.names.rejectedQueue)).messages === 2,
  );
  broker.consume({ queue: environment.inboxQueue, prefetch: 10, handle: () => {} });
  await until("the consumer is counted", async () => {
    return (await inspector.depthOf(environment.inboxQueue)).consumers === 1;
  });
});

test("an inspector fails one question for a deleted queue, and the queue is there for the next", async () => {
  const broker = environment.connect();
  const inspector = broker.inspector();
  await broker.ready();
  await environment.channel.deleteQueue(environment.names.rejectedQueue);
  await expect(inspector.depthOf(environment.names.rejectedQueue)).rejects.toThrow(environment.names.rejectedQueue);
  await until("it was declared again", async () => {
    const depth = await inspector.depthOf(environment.names.rejectedQueue).catch(() => undefined);
    return depth?.messages === 0;
  });
});

test("an inspector fails the question while the broker is away", async () => {
  const broker = environment.connect();
  const inspector = broker.inspector();
  await broker.ready();
  environment.proxy.refuse();
  await until("the channel is gone", () => !broker.isReady());
  await expect(inspector.depthOf(environment.inboxQueue)).rejects.toThrow("no channel");
});
