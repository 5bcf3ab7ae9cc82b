import { expect, test } from "@jest/globals";
import { endpointId, useVirtualTime, world } from "../../test/support/virtual-owner.ts";

useVirtualTime();

/** An owner that knows the endpoint. */
async function known() {
  const all = world();
  all.owner.handedOver(all.store(endpointId(1)));
  await all.pass(20);
  return all;
}

test("a delivery of an event that has just arrived is attempted before it is stored", async () => {
  const { arrive, pass, made, rows, statements } = await known();
  const before = statements();
  const [id] = arrive(endpointId(1), 1, 100);
  await pass(20);
  expect(made.get(`${id}/0`)).toBe(1);
  await pass(2_000);
  expect([rows.size, made.get(`${id}/0`), statements() - before]).toEqual([0, 1, 0]);
});

test.each<[string, (all: Awaited<ReturnType<typeof known>>) => void]>([
  ["while PostgreSQL takes no results", ({ set }) => void Object.assign(set, { isWriting: false })],
  [
    "if the owner is new, and can't know what the owner before it sent",
    ({ set }) => void Object.assign(set, { ownedMs: 14_999 }),
  ],
  ["if the endpoint was edited and the message about it was lost", ({ edit }) => edit()],
])("a delivery of an event that has just arrived waits until it is stored %s", async (_name, change) => {
  const all = await known();
  // The endpoint's configuration is too old to be used.
  await all.pass(600);
  change(all);
  const [id] = all.arrive(endpointId(1), 1, 100);
  await all.pass(99);
  expect(all.made.get(`${id}/0`)).toBeUndefined();
  await all.pass(100);
  expect(all.made.get(`${id}/0`)).toBe(1);
});

test("a delivery of an event that arrived is like any other once it is stored: it waits for its turn, and is not read", async () => {
  let tookMs = 5;
  const all = world({ tookMs: () => tookMs });
  all.owner.handedOver(all.store(endpointId(1)));
  await all.pass(20);
  tookMs = 1_500;
  const before = all.statements();
  const ids = all.arrive(endpointId(1), 8, 100);
  await all.pass(3_100);
  expect(ids.map((id) => all.made.get(`${id}/0`))).toEqual(Array(8).fill(1));
  expect([all.rows.size, all.statements() - before]).toEqual([0, 0]);
});

test("a delivery that was lost on arrival is read when it is stored, also between others that the owner has", async () => {
  const { owner, store, pass, made, rows, read } = await known();
  const kept = store(endpointId(1));
  owner.handedOver(kept);
  const lost = store(endpointId(1));
  const arrived = [...kept.deliveries, ...lost.deliveries].map(({ deliveryId }) => deliveryId);
  const { organizationId } = kept.deliveries[0] as (typeof kept.deliveries)[number];
  const work = [{ endpointId: endpointId(1), organizationId, arrived }];
  owner.handedOver({ stored: true, events: [], deliveries: [], work });
  await pass(50);
  expect(arrived.map((id) => made.get(`${id}/0`))).toEqual([1, 1]);
  expect([rows.size, read()]).toEqual([0, 1]);
});

test("a delivery of an event that arrived is not attempted if it is not stored for more than a second", async () => {
  const { arrive, pass, made, set } = await known();
  // As in an outage.
  set.ending = () => "put back";
  const [id] = arrive(endpointId(1), 1, 4_000);
  await pass(1_200);
  set.ending = () => "succeeded";
  await pass(2_500);
  expect(made.get(`${id}/0`)).toBeUndefined();
  await pass(500);
  expect(made.get(`${id}/0`)).toBe(1);
});
