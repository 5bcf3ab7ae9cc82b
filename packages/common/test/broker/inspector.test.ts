import { useBroker } from "@herald/testkit/harness/use-broker";
import { expect, test } from "@jest/globals";
import { until, useBench } from "./bench.ts";

const place = useBroker();
const bench = useBench(() => place.url);

test("says how many messages wait, and for how many consumers", async () => {
  const broker = bench.connect();
  const inspector = broker.inspector();
  await broker.ready();
  expect(await inspector.depthOf(bench.names.rejectedQueue)).toEqual({ messages: 0, consumers: 0 });
  await bench.put(bench.names.rejectedQueue, "one");
  await bench.put(bench.names.rejectedQueue, "two");
  await until("both are counted", async () => (await inspector.depthOf(bench.names.rejectedQueue)).messages === 2);
  broker.consume({ queue: bench.names.inboxQueue, prefetch: 10, handle: () => {} });
  await until("the consumer is counted", async () => {
    return (await inspector.depthOf(bench.names.inboxQueue)).consumers === 1;
  });
});

test("a queue that somebody deleted fails one question, and is there for the next", async () => {
  const broker = bench.connect();
  const inspector = broker.inspector();
  await broker.ready();
  await bench.channel.deleteQueue(bench.names.manualHintsQueue);
  await expect(inspector.depthOf(bench.names.manualHintsQueue)).rejects.toThrow(bench.names.manualHintsQueue);
  await until("it was declared again", async () => {
    const depth = await inspector.depthOf(bench.names.manualHintsQueue).catch(() => undefined);
    return depth?.messages === 0;
  });
});

test("a broker that is away fails the question, and nothing else", async () => {
  const broker = bench.connect();
  const inspector = broker.inspector();
  await broker.ready();
  bench.proxy.refuse();
  await until("the channel is gone", () => !broker.isReady());
  await expect(inspector.depthOf(bench.names.inboxQueue)).rejects.toThrow("no channel");
});
