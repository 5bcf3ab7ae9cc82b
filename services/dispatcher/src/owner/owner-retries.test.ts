import type { SteeredClock } from "@herald/dev/harness/steered-clock";
import { describe, expect, test } from "@jest/globals";
import { changeOf, endpointId, RETRY_MS, START, useVirtualTime, world } from "../../test/support/virtual-owner.ts";

useVirtualTime();

test("§8/polling regression: a retry that becomes due while an earlier one is read comes at its time", async () => {
  const { owner, store, pass, made, set } = world();
  set.ending = ({ attempts }) => (attempts === 0 ? "failed" : "succeeded");
  set.readMs = 20;
  owner.handedOver(store(endpointId(1), 2));
  await pass(RETRY_MS + 200);
  expect([...made.values()]).toEqual([1, 1, 1, 1]);
});

test("§8/polling retries come at their time by a timer, without a sweep", async () => {
  const { owner, store, pass, made, rows, set } = world();
  set.ending = ({ attempts }) => (attempts < 2 ? "failed" : "succeeded");
  owner.handedOver(store(endpointId(1)));
  await pass(2 * RETRY_MS + 100);
  expect([...made.values()]).toEqual([1, 1, 1]);
  expect(rows.size).toBe(0);
});

describe("after PostgreSQL's clock was set back by an hour", () => {
  const setBack = (clock: SteeredClock) => clock.set(new Date(clock.now().getTime() - 3_600_000));

  test("regression: rows from before are attempted, also behind later ones", async () => {
    const { store, pass, rows, clock } = world();
    store(endpointId(1), 20);
    setBack(clock);
    const [next] = store(endpointId(1)).deliveries;
    const row = rows.get(next?.deliveryId ?? "");
    if (row) row.dueAt = new Date(clock.now().getTime() + 1_000);
    await pass(900, { sweepEveryMs: 100 });
    expect(rows.size).toBe(21);
    await pass(500, { sweepEveryMs: 100 });
    expect(rows.size).toBe(0);
  });

  test("§2.3/current regression: a changed configuration is read, and an endpoint that changed before goes on", async () => {
    const { owner, store, pass, made, clock, configurations } = world();
    owner.handedOver(store(endpointId(1)));
    await pass(20);
    owner.changed(changeOf(endpointId(1)));
    await pass(20);
    setBack(clock);
    const before = configurations();
    owner.handedOver(store(endpointId(1)));
    await pass(20);
    expect(configurations()).toBe(before + 1);
    expect(made.size).toBe(2);
  });

  test("regression: an endpoint that rests after an outage goes on", async () => {
    const { owner, store, pass, made, clock, set } = world();
    set.ending = () => (made.size === 0 && clock.now() > START ? "put back" : "succeeded");
    owner.handedOver(store(endpointId(1)));
    await pass(50);
    setBack(clock);
    await pass(200);
    expect(made.size).toBe(1);
  });
});

test("a retry is made at its time by an owner that does not know the endpoint", async () => {
  const { store, rows, sweep, pass, made, clock } = world();
  store(endpointId(1));
  for (const row of rows.values()) row.dueAt = new Date(clock.now().getTime() + 3_000);
  for (let looks = 0; looks < 3; looks++) sweep();
  await pass(2_990);
  expect(made.size).toBe(0);
  await pass(100);
  expect([...made.values()]).toEqual([1]);
});

test.each([
  ["forgotten", 1],
  ["known", 10],
])(
  "regression: a retry is made at its time, and read once, if its endpoint is %s when it is due",
  async (_how, maxEndpoints) => {
    const { owner, store, sweep, pass, made, statements, set } = world({ options: { maxEndpoints } });
    set.ending = ({ endpointId: id, attempts }) => (id === endpointId(1) && attempts === 0 ? "failed" : "succeeded");
    const [first] = store(endpointId(1)).deliveries;
    sweep();
    await pass(100);
    sweep();
    owner.handedOver(store(endpointId(2)));
    const before = statements();
    await pass(RETRY_MS);
    expect(made.get(`${first?.deliveryId}/1`)).toBe(1);
    expect(statements() - before).toBe(1);
  },
);
