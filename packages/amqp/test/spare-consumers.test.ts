import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import type { IncomingMessage } from "../src/index.ts";
import { useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

const OWN = 2;
const SPARE = { consumers: 2, prefetch: 3 };
/** A queue that has all spare consumers. */
const MOST = OWN + SPARE.consumers * SPARE.prefetch;

/** A consumer of two queues that settles nothing by itself. */
async function consume(spare: typeof SPARE & { queues?: string[] } = SPARE) {
  const broker = environment.connect();
  const got = inbox();
  const { queue, otherQueue } = environment.names;
  const consumer = broker.consume({ queue: [queue, otherQueue], prefetch: OWN, spare, handle: got.handle });
  await broker.ready();
  const unsettled = new Set<IncomingMessage>();
  const seen = { count: 0, most: 0 };
  const update = () => {
    for (const message of got.messages.slice(seen.count)) unsettled.add(message);
    seen.count = got.messages.length;
    seen.most = Math.max(seen.most, unsettled.size);
  };
  return {
    consumer,
    queue,
    otherQueue,
    most: () => seen.most,
    came: () => seen.count,
    heldFrom: (name: string) => {
      update();
      return [...unsettled].filter((message) => message.queue === name).length;
    },
    ack: (count: number) => {
      update();
      for (const message of [...unsettled].slice(0, count)) {
        unsettled.delete(message);
        message.ack();
      }
    },
  };
}

async function fill(queue: string, count: number): Promise<void> {
  for (let number = 0; number < count; number++) await environment.put(queue, `${number}`);
}

test("spare consumers go to the queue that is full, and two full queues share them", async () => {
  const { queue, otherQueue, consumer, heldFrom, ack } = await consume();
  await fill(queue, 40);
  await until("the only full queue has all spare consumers", () => heldFrom(queue) === MOST);
  await fill(otherQueue, 10);
  await until("the other one has its own", () => heldFrom(otherQueue) === OWN);
  await until("the other one has a spare consumer too", () => {
    ack(1);
    return heldFrom(otherQueue) > OWN;
  });
  await consumer.close({ drainTimeoutMs: 0 });
});

test("spare consumers go to no other queues than they may", async () => {
  const spare = { ...SPARE, queues: [environment.names.queue] };
  const { queue, otherQueue, consumer, heldFrom } = await consume(spare);
  await fill(otherQueue, 10);
  await fill(queue, 40);
  await until("the queue that they may go to has all of them", () => heldFrom(queue) === MOST);
  expect(heldFrom(otherQueue)).toBe(OWN);
  await consumer.close({ drainTimeoutMs: 0 });
});

test("no more messages are unsettled than all prefetches allow, however the spare consumers move, and each comes once", async () => {
  const { queue, otherQueue, consumer, came, most, heldFrom, ack } = await consume();
  for (let round = 0; round < 6; round++) {
    await fill(round % 2 === 0 ? queue : otherQueue, 30);
    await until("all of the round came", () => {
      ack(1 + (came() % 3));
      return came() === (round + 1) * 30 && heldFrom(queue) + heldFrom(otherQueue) === 0;
    });
  }
  await consumer.close();
  expect(most()).toBeGreaterThan(2 * OWN);
  expect(most()).toBeLessThanOrEqual(2 * OWN + SPARE.consumers * SPARE.prefetch);
  expect(await environment.take(queue)).toEqual([]);
  expect(await environment.take(otherQueue)).toEqual([]);
});

test("spare consumers work again after a lost connection", async () => {
  const { queue, consumer, heldFrom, came } = await consume();
  await fill(queue, 20);
  await until("the queue has all of them", () => heldFrom(queue) === MOST);
  environment.proxy.cut();
  await until("as many came again", () => {
    heldFrom(queue);
    return came() === 2 * MOST;
  });
  await consumer.close({ drainTimeoutMs: 0 });
});
