import { setImmediate } from "node:timers/promises";
import { declareTopology } from "@herald/common/broker/topology";
import { until } from "@herald/dev/harness/client-environment";
import { expect, test } from "@jest/globals";
import { STAY_MS } from "../src/inbox/floods.ts";
import { useConsumer } from "./use-consumer.ts";

const inbox = useConsumer();
const {
  startConsuming,
  endConsuming,
  storeUntil,
  returnPostgres,
  emit,
  depthOf,
  waiting,
  counted,
  stored,
  subscriptionOf,
} = inbox;
/** Events of a flood before it is turned: more than a publisher may hold of a queue. */
const FIRST = 700;

const [inboxQueue, behindQueue] = [
  () => inbox.names.inboxQueues[10] as string,
  () => inbox.names.behindQueues[10] as string,
];
/** Emits events of a flood until its sixteenth is turned, and returns how many. */
async function emitUntilTurned(): Promise<number> {
  await emit("flood", "WorkItemCompleted.a.0", FIRST * inbox.running.length);
  const line = "a flood of events goes to the second queue of its bucket";
  await until("a publisher says that it is turned", () => inbox.told.includes(line));
  await emit("flood", "WorkItemCompleted.a.0", 1);
  await until("an event comes by the second queue", () => inbox.came.of(behindQueue()) > 0);
  return FIRST * inbox.running.length + 1;
}

test("a flood goes to the second queue of two publishers, so that events of others after it get past it, and all of it is stored once", async () => {
  await startConsuming();
  const first = await emitUntilTurned();
  await emit("flood", "WorkItemCompleted.a.0", 3_200 - first);
  await emit("neighbour", "WorkItemCompleted.a.1", 10);
  await storeUntil("the neighbour's events are reached", async () => (await depthOf([inboxQueue()])) === 0);
  expect(stored().length).toBeLessThan(first);
  expect(await depthOf([behindQueue()])).toBeGreaterThan(3_200 - 2 * first);

  returnPostgres();
  await until("all are stored", () => stored().length >= 3_200 + 10);
  await until("none is left", async () => (await waiting()) === 0);
  expect(new Set(stored().map(({ id }) => id)).size).toBe(3_200 + 10);
  await until("all are acknowledged", async () => (await counted("received")) === 3_200 + 10);
});

test("a flood stays turned if its publisher ends, another one stores all of it, and turns it back a minute after its end", async () => {
  const first = await emitUntilTurned();
  await emit("flood", "WorkItemCompleted.a.0", 1_000 - first);
  await endConsuming();
  // RabbitMQ puts back what the publisher held a moment after its channel has ended.
  await until("all wait again", async () => (await depthOf([inboxQueue(), behindQueue()])) === 1_000);
  const inFirst = await depthOf([inboxQueue()]);
  // The next publisher declares the topology, as each channel does.
  await declareTopology(inbox.channel, inbox.namespace);
  await emit("flood", "WorkItemCompleted.a.0", 1_000);
  await emit("neighbour", "WorkItemCompleted.a.1", 10);
  expect(await depthOf([inboxQueue()])).toBe(inFirst + 10);
  expect(await depthOf([behindQueue()])).toBe(2_000 - inFirst);

  returnPostgres();
  await startConsuming();
  await until("all are stored", async () => new Set(stored().map(({ id }) => id)).size === 2_010);
  await until("none is left", async () => (await waiting()) === 0);
  inbox.clock.advance(STAY_MS);
  const before = inbox.came.of(inboxQueue());
  await until("an event comes by the first queue again", async () => {
    await emit("flood", "WorkItemCompleted.a.0", 1);
    return inbox.came.of(inboxQueue()) > before;
  });
});

test("events that are handed over on arrival and not stored are bounded: the others wait, and are handed over as those are stored", async () => {
  // Each has too few events for a flood, which would be stored first.
  const organizations = Array.from({ length: 14 }, (_, number) => `organization-${number}`);
  inbox.subscriptions = organizations.map(subscriptionOf);
  const emitEach = async (count: number) => {
    for (const [bucket, organizationId] of organizations.entries()) {
      await emit(organizationId, `WorkItemCompleted.${bucket.toString(16)}.0`, count);
    }
  };
  returnPostgres();
  await emitEach(20);
  await until(
    "who gets events is known, and that messages are small",
    async () => (await counted("received")) === 14 * 20,
  );
  inbox.isThere = false;
  inbox.handedOver = 0;
  await emitEach(200);
  await until("all are in the process, and as many as may be are handed over", async () => {
    return inbox.handedOver >= 2_500 && (await waiting()) === 0;
  });
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  // One batch of others gets past.
  expect(inbox.handedOver).toBeLessThanOrEqual(2_700);

  returnPostgres();
  await until("all are stored", async () => (await counted("received")) === 14 * 220);
  expect(inbox.handedOver).toBe(14 * 200);
});
