import { shardOf } from "@herald/common/database/shards";
import { expect, test } from "@jest/globals";
import { endpointId, OPTIONS, organizationOf, useVirtualTime, world } from "../../test/support/virtual-owner.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";

useVirtualTime();

test("an endpoint that answers goes on, though all that were quick before hang at the same moment", async () => {
  let tookMs = (_id: string) => 5;
  const { owner, store, pass, made } = world({ tookMs: (id) => tookMs(id) });
  const crowd = Array.from({ length: 40 }, (_, index) => endpointId(index + 1));
  for (const id of [endpointId(0), ...crowd]) owner.handedOver(store(id, 1));
  await pass(5_100);
  tookMs = (id) => (id === endpointId(0) ? 5 : 60_000);
  owner.handedOver(store(endpointId(0), 1));
  await pass(20);
  for (const id of crowd) owner.handedOver(store(id, 4));
  await pass(5);
  const before = made.size;
  owner.handedOver(store(endpointId(0), 40));
  await pass(400);
  expect(made.size - before).toBe(40);
});

test.each([
  { come: "are handed over", isHandedOver: true },
  { come: "are read", isHandedOver: false },
])("few attempts begin in one turn of the event loop, if a thousand deliveries $come at once", async (row) => {
  const { owner, store, sweep, pass, made, most } = world({
    options: { concurrency: 10, bounds: { inFlight: 2_000, bodiesBytes: 1024 ** 2 } },
    tookMs: () => 50,
  });
  const ids = Array.from({ length: 100 }, (_, index) => endpointId(index + 1));
  // Their health is known then.
  for (const id of ids) owner.handedOver(store(id, 1));
  await pass(100);
  most.inTurn = 0;
  for (const id of ids) {
    const stored = store(id, 10);
    if (row.isHandedOver) owner.handedOver(stored);
  }
  if (!row.isHandedOver) sweep();
  await pass(300);
  expect(made.size).toBe(1_100);
  expect(most.all).toBeGreaterThan(500);
  expect(most.inTurn).toBeLessThanOrEqual(16);
});

test.each(["a sweep finds behind them", "is work of a message, once they count as slow"])(
  "an endpoint with three hanging attempts of four gets the fourth one that %s",
  async (how) => {
    const { owner, store, pass, inFlight, statements } = world({ tookMs: () => 60_000 });
    // The first one finds out the endpoint's health.
    for (const count of [1, 2]) {
      owner.handedOver(store(endpointId(1), count));
      await pass(20);
    }
    const { deliveries } = store(endpointId(1), 3);
    if (how.startsWith("is")) owner.handedOver({ stored: true, events: [], deliveries: [], work: deliveries });
    await pass(1_200, { sweepEveryMs: how.startsWith("is") ? 0 : 50 });
    expect(inFlight.size).toBe(4);
    if (how.startsWith("is")) expect(statements()).toBeLessThanOrEqual(2);
  },
);

test("organizations share free permits evenly, whatever their numbers of endpoints and deliveries", async () => {
  const { owner, store, pass, madeBy } = world({ options: { bounds: { inFlight: 6, bodiesBytes: 1024 ** 2 } } });
  // Two organizations with two busy endpoints, and one with one.
  const ids = [0, 1, 2, 3, 7].map(endpointId);
  // Their health is known then.
  for (const id of ids) owner.handedOver(store(id));
  await pass(100);
  for (const id of ids) owner.handedOver(store(id, 400));
  madeBy.clear();
  await pass(300);
  const counts = [...madeBy.values()];
  expect(counts).toHaveLength(3);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(6);
});

test("permits that were reserved for rows which are not there are free again", async () => {
  const { owner, store, pass, rows, inFlight } = world({ tookMs: () => 100 });
  const ids = Array.from({ length: 10 }, (_, index) => endpointId(10 + index));
  for (let round = 0; round < 20; round++) {
    const work = ids.map((id) => ({ endpointId: id, organizationId: organizationOf(id) }));
    owner.handedOver({ stored: true, events: [], deliveries: [], work });
    await pass(10);
  }
  for (const id of ids) owner.handedOver(store(id));
  await pass(500);
  for (const id of ids) owner.handedOver(store(id, 4));
  await pass(20);
  expect([inFlight.size, rows.size]).toEqual([OPTIONS.bounds.inFlight, 40]);
});

test("while results wait for locked rows, their endpoints begin nothing, and others have the permits; after 20 seconds their shards can be given up", async () => {
  const { owner, store, pass, set, inFlight, idle, rows } = world();
  const { promise, resolve: unlock } = Promise.withResolvers<void>();
  Object.assign(set, {
    unlocked: promise,
    ending: ({ endpointId: id }: Delivery) => (locked.has(id) ? "locked" : "succeeded"),
  });
  const ids = Array.from({ length: 30 }, (_, index) => endpointId(10 + index));
  const locked = new Set(ids);
  for (const id of ids) owner.handedOver(store(id, 8));
  await pass(100);
  // More than there are permits.
  expect(inFlight.size).toBe(30);
  const other = endpointId(40);
  owner.handedOver(store(other, 8));
  await pass(100);
  expect([[...rows.values()].filter(({ endpointId: id }) => id === other), inFlight.size]).toEqual([[], 30]);
  await pass(19_700);
  expect(idle.filter((shard) => ids.map(shardOf).includes(shard))).toEqual([]);
  await pass(200);
  expect(new Set(idle)).toEqual(new Set([...ids.map(shardOf), shardOf(other)]));
  expect(ids.map((id) => owner.inFlightOf(shardOf(id)))).toEqual(ids.map(() => 0));
  unlock();
  await pass(1_000);
  expect([rows.size, inFlight.size]).toEqual([0, 0]);
});
