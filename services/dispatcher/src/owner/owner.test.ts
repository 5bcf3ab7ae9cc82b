import { describe, expect, test } from "@jest/globals";
import { changeOf, endpointId, organizationOf, useVirtualTime, world } from "../../test/support/virtual-owner.ts";
import { manualCaps } from "./manual-deliveries.ts";
import { pauseMs } from "./sweep.ts";

useVirtualTime();

test("a delivery that is handed over is attempted without being read from PostgreSQL", async () => {
  const { owner, store, pass, made, statements } = world();
  for (let round = 0; round < 10; round++) {
    owner.handedOver(store(endpointId(1), 2));
    await pass(20);
  }
  expect([made.size, statements()]).toEqual([20, 0]);
});

test("a delivery that is handed over while another one is read is attempted without a sweep", async () => {
  const { owner, store, pass, made, set } = world();
  // Its health is known then, and there is room for more than one.
  owner.handedOver(store(endpointId(1)));
  await pass(20);
  set.readMs = 20;
  const { deliveries } = store(endpointId(1));
  owner.handedOver({ stored: true, events: [], deliveries: [], work: deliveries });
  await pass(10);
  owner.handedOver(store(endpointId(1)));
  await pass(200);
  expect(made.size).toBe(3);
});

test("regression: under load, one reading leads to no other: what is handed over meanwhile is attempted without being read", async () => {
  const { owner, store, sweep, pass, made, rows, set, statements } = world();
  owner.handedOver(store(endpointId(1)));
  await pass(20);
  set.readMs = 20;
  // Its message is lost.
  store(endpointId(1));
  sweep();
  for (let round = 0; round < 200; round++) {
    owner.handedOver(store(endpointId(1)));
    await pass(2);
  }
  await pass(200);
  expect([made.size, rows.size, statements()]).toEqual([202, 0, 1]);
});

test("a delivery that a sweep finds is attempted, though new ones that were handed over always wait in memory", async () => {
  const { owner, store, sweep, pass, made } = world({ tookMs: () => 20 });
  owner.handedOver(store(endpointId(1)));
  await pass(100);
  owner.handedOver(store(endpointId(1), 40));
  const [lost] = store(endpointId(1)).deliveries;
  sweep();
  for (let round = 0; round < 20; round++) {
    await pass(20);
    owner.handedOver(store(endpointId(1), 4));
  }
  expect(made.size).toBeLessThan(110);
  expect(made.get(`${lost?.deliveryId}/0`)).toBe(1);
});

test("deliveries are read from PostgreSQL if their message comes so late that an attempt may be forgotten", async () => {
  const { owner, store, pass, made, rows } = world();
  const attempted = store(endpointId(1));
  owner.handedOver(attempted);
  // With others' deliveries it forgets.
  for (let other = 0; other < 3; other++) {
    await pass(16_000);
    owner.handedOver(store(endpointId(2)));
  }
  await pass(100);
  const waiting = store(endpointId(1));
  await pass(11_000);
  owner.handedOver(attempted);
  owner.handedOver(waiting);
  await pass(100);
  expect([[...made.values()], rows.size]).toEqual([[1, 1, 1, 1, 1], 0]);
});

test("regression: a delivery whose event is not stored yet is read again after a second", async () => {
  const { owner, store, pass, made, set } = world();
  set.ending = () => "not stored";
  owner.handedOver(store(endpointId(1)));
  await pass(900);
  set.ending = () => "succeeded";
  expect(made.size).toBe(0);
  await pass(300);
  expect([...made.values()]).toEqual([1]);
});

test("a hand-over is dropped if its endpoint was disabled meanwhile, though it was stored before", async () => {
  const { owner, store, pass, made, disabled, rows } = world();
  owner.handedOver(store(endpointId(1)));
  await pass(20);
  const before = store(endpointId(1));
  await pass(1);
  disabled.add(endpointId(1));
  owner.changed(changeOf(endpointId(1)));
  owner.handedOver(before);
  await pass(100);
  expect([made.size, rows.size]).toEqual([1, 1]);
});

describe("a late first attempt", () => {
  const count = (waited: boolean[]) => waited.filter(Boolean).length;

  test("a first attempt waits for its receiver if the endpoint is full, and not if there is room again", async () => {
    const { owner, store, pass, waited } = world({ tookMs: () => 200 });
    owner.handedOver(store(endpointId(1)));
    await pass(300);
    owner.handedOver(store(endpointId(1), 10));
    await pass(1_000);
    expect([waited.length, count(waited)]).toEqual([11, 6]);
    owner.handedOver(store(endpointId(1), 4));
    await pass(300);
    expect([waited.length, count(waited)]).toEqual([15, 6]);
  });

  test("a first attempt waited for its receiver if the endpoint was resumed after the delivery was made", async () => {
    const { owner, store, pass, waited, sweep } = world();
    store(endpointId(1));
    await pass(10);
    owner.changed(changeOf(endpointId(1)));
    sweep();
    await pass(50);
    expect(waited).toEqual([true]);
  });

  test("a first attempt does not wait for its receiver while all of the dispatcher's permits are taken", async () => {
    const { owner, store, pass, waited } = world({ tookMs: () => 500 });
    for (let index = 0; index < 20; index++) owner.handedOver(store(endpointId(index), 4));
    await pass(3_000);
    expect([waited.length, count(waited)]).toEqual([80, 0]);
  });
});

test.each(["the message says so", "a sweep finds its new revision"])(
  "an endpoint that was resumed while it rested gets an attempt at once, if %s",
  async (how) => {
    const { owner, store, sweep, pass, made, edit, inFlight, clock, set } = world();
    set.ending = ({ deliveryId }) => {
      const failure = { startedAt: clock.now(), durationMs: 1, retryAfterMs: 900_000, manual: false };
      if (made.size === 0) inFlight.get(deliveryId)?.endpoint.gate.breaker.failed(failure);
      return "failed";
    };
    owner.handedOver(store(endpointId(1)));
    await pass(20);
    owner.handedOver(store(endpointId(1)));
    await pass(100);
    expect(made.size).toBe(1);
    edit();
    if (how === "the message says so") owner.changed(changeOf(endpointId(1)));
    else sweep();
    await pass(50);
    expect(made.size).toBe(2);
  },
);

test("regression: an error in one endpoint ends neither the process nor the sweep: the others go on", async () => {
  const { owner, store, rows, errors, pass, made, clock } = world();
  const [broken, unreadable, sound] = [endpointId(0), endpointId(1), endpointId(2)];
  for (const id of [unreadable, sound]) store(id, 3);
  const row = [...rows.values()].find((each) => each.endpointId === unreadable);
  // As pg reads a time that is not in ISO's form.
  const noTime = null as unknown as Date;
  Object.defineProperty(row, "dueAt", { get: () => (errors.length > 0 ? noTime : clock.now()) });
  const found = (id: string, dueAt: Date) => ({
    ...{ endpointId: id, organizationId: organizationOf(id), dueAt, revision: 1n, failures: 0, pausedUntil: null },
  });
  owner.found([found(broken, noTime), found(unreadable, clock.now()), found(sound, clock.now())], {
    crashed: new Set(),
  });
  await pass(100);
  expect(errors).toContain(broken);
  expect([...rows.values()].filter((each) => each.endpointId === sound)).toEqual([]);
  expect(made.size).toBeGreaterThanOrEqual(3);
});

const times = (count: number, enter: () => boolean) => Array.from({ length: count }, enter).filter(Boolean).length;

test("one endpoint may have a tenth of all, and one organization a fifth", () => {
  const caps = manualCaps(100);
  expect(times(60, () => caps.enter("a-1", "a"))).toBe(10);
  expect(times(60, () => caps.enter("a-2", "a"))).toBe(10);
  expect(times(60, () => caps.enter("a-3", "a"))).toBe(0);
  expect(times(60, () => caps.enter("b-1", "b"))).toBe(10);
});

test("each manual delivery that has ended makes room for another one", () => {
  const caps = manualCaps(20);
  expect(times(5, () => caps.enter("a-1", "a"))).toBe(2);
  caps.leave("a-1", "a");
  expect(times(5, () => caps.enter("a-1", "a"))).toBe(1);
});

test("a small number has room for one of each", () => {
  const caps = manualCaps(1);
  expect([caps.enter("a-1", "a"), caps.enter("a-2", "a"), caps.enter("b-1", "b")]).toEqual([true, false, true]);
});

test.each([
  ["its interval", 10, 2_000],
  ["nine times what the last one took", 300, 2_700],
  ["five seconds, however long the last one took", 60_000, 5_000],
])("regression: a sweep comes after %s", (_after, tookMs, expected) => {
  expect(pauseMs(tookMs, 2_000)).toBe(expected);
});
