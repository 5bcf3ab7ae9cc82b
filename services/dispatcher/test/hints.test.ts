import { randomUUID } from "node:crypto";
import { type Broker, connectBroker } from "@herald/common/broker/broker";
import type { Hint } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { consumeHints } from "../src/lanes/consume-hints.ts";
import type { Endpoint } from "../src/lanes/turns.ts";
import type { ClaimedDelivery, ReadyDelivery } from "../src/sql/claimed-delivery.ts";

const rabbitmq = useBroker();
/** What was warned of. */
let warnings: string[] = [];
const log = { debug() {}, info() {}, warn: (text: string) => void warnings.push(text), error() {}, isDebug: false };
const clock = steeredClock();

let brokers: Broker[] = [];
beforeEach(() => {
  brokers = [];
  warnings = [];
});
afterEach(async () => {
  await Promise.all(brokers.map((broker) => broker.close()));
});

/** A dispatcher that follows hints: what it claims for, attempts and gives back. */
async function dispatcher({ share, knows = true }: { share: boolean; knows?: boolean }) {
  const seen = { asked: 0, added: [] as Endpoint[], offered: [] as string[], givenBack: [] as string[] };
  const broker = connectBroker({ url: rabbitmq.url, namespace: rabbitmq.namespace, name: "test", log });
  brokers.push(broker);
  consumeHints({
    broker,
    scheduler: {
      add: (endpoint) => void seen.added.push(endpoint),
      offer: ({ deliveryId }: ClaimedDelivery) => seen.offered.push(deliveryId) > 0,
    },
    hinted: {
      read: (_, { deliveryId }) => (knows ? ({ deliveryId } as ReadyDelivery) : undefined),
      giveBack: async (deliveryId) => void seen.givenBack.push(deliveryId),
    },
    hasShare: () => {
      seen.asked++;
      return share;
    },
    clock,
    log,
  });
  await broker.ready();
  return seen;
}

/** Sends a hint as the publisher does, unless by another exchange. */
async function send(hint: Hint, exchange?: string): Promise<void> {
  const broker = connectBroker({ url: rabbitmq.url, namespace: rabbitmq.namespace, name: "test", log });
  const publisher = broker.publisher();
  const content = Buffer.from(JSON.stringify(hint));
  await publisher.publish({
    exchange: exchange ?? broker.names.dispatchExchange,
    routingKey: broker.names.hintsQueue,
    content,
  });
  await broker.close();
}

function newHint(leaseMs?: number): Hint {
  const endpoint = { endpointId: randomUUID(), organizationId: "org-1" };
  if (leaseMs === undefined) return endpoint;
  const now = clock.now();
  return {
    ...endpoint,
    delivery: {
      deliveryId: randomUUID(),
      eventType: "RiskCreated",
      body: "{}",
      traceparent: null,
      revision: "1",
      createdAtUtc: now.toISOString(),
      leasedUntilUtc: new Date(now.getTime() + leaseMs).toISOString(),
    },
  };
}

test("a hint leads to claims for its endpoint, and one that brings a delivery to an attempt of it", async () => {
  const { added, offered } = await dispatcher({ share: true });
  const [plain, leased] = [newHint(), newHint(60_000)];
  await send(plain);
  await send(leased);
  await eventually(() => expect(offered).toEqual([leased.delivery?.deliveryId]));
  expect(added).toEqual([plain]);
});

test("a delivery whose endpoint is not known well enough is given back, and claimed", async () => {
  const { added, offered, givenBack } = await dispatcher({ share: true, knows: false });
  const hint = newHint(60_000);
  await send(hint);
  await eventually(() => expect(added).toEqual([{ endpointId: hint.endpointId, organizationId: "org-1" }]));
  expect(givenBack).toEqual([hint.delivery?.deliveryId]);
  expect(offered).toEqual([]);
});

test("of a hint that is delivered again, its acknowledgement lost, only the endpoint counts: another dispatcher may be at its delivery", async () => {
  const first = connectBroker({ url: rabbitmq.url, namespace: rabbitmq.namespace, name: "test", log });
  brokers.push(first);
  let taken = 0;
  const consumer = first.consume({ queue: first.names.hintsQueue, prefetch: 1, handle: () => void taken++ });
  await first.ready();
  const hint = newHint(60_000);
  await send(hint);
  await eventually(() => expect(taken).toBe(1));
  const second = await dispatcher({ share: true });
  await consumer.close({ drainTimeoutMs: 0 });
  await eventually(() => expect(second.added).toEqual([{ endpointId: hint.endpointId, organizationId: "org-1" }]));
  expect(second).toMatchObject({ offered: [], givenBack: [] });
});

test("a hint goes on from a dispatcher without a share of the endpoint's concurrency to one that has it", async () => {
  const without = await dispatcher({ share: false });
  const hint = newHint(60_000);
  // Of two consumers the broker serves each in turn, so one of the hints comes to the wrong one first.
  const another = newHint(60_000);
  const having = await dispatcher({ share: true });
  await send(hint);
  await send(another);
  const wanted = [hint, another].map(({ delivery }) => delivery?.deliveryId).sort();
  await eventually(() => expect([...having.offered].sort()).toEqual(wanted));
  expect(without.asked).toBeGreaterThan(0);
  expect(without).toMatchObject({ added: [], offered: [], givenBack: [] });
});

test("where no dispatcher has a share, a hint goes on three times, and its delivery is left to the due scan", async () => {
  const seen = await dispatcher({ share: false });
  const hint = newHint(60_000);
  await send(hint);
  await eventually(() => expect(seen.givenBack).toEqual([hint.delivery?.deliveryId]));
  expect(seen).toMatchObject({ asked: 4, added: [], offered: [] });
});

test("a hint whose lease is over does not go on", async () => {
  const seen = await dispatcher({ share: false });
  const hint = newHint(0);
  await send(hint);
  await eventually(() => expect(seen.givenBack).toEqual([hint.delivery?.deliveryId]));
  expect(seen.asked).toBe(1);
});

test("a forged hint, put into the queue past the publishers' exchange, is dropped, and the log says so", async () => {
  const seen = await dispatcher({ share: true });
  const [forged, plain] = [newHint(60_000), newHint()];
  await send(forged, "");
  // What comes later has passed it.
  await send(plain);
  await eventually(() => expect(seen.added).toEqual([plain]));
  expect(seen).toMatchObject({ offered: [], givenBack: [] });
  expect(warnings).toEqual(["a hint came by another way than publishers send it, and was dropped"]);
});
