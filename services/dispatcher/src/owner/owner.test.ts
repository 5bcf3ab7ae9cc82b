import { shardOf } from "@herald/common/database/shards";
import type { HandOver } from "@herald/contracts";
import { type SteeredClock, steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { basics, SILENT } from "../../test/basics.ts";
import type { Attempt, Outcome } from "../attempt/make-attempt.ts";
import type { BacklogPage } from "../endpoint/line.ts";
import { retrySchedule } from "../endpoint/retry-schedule.ts";
import type { Outage } from "../outage/outage.ts";
import type { HealthQueue } from "../settle/health-queue.ts";
import type { SettleQueue } from "../settle/settle-queue.ts";
import type { Shards } from "../shards/shards.ts";
import type { Delivery, DueRow } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import { createOwner, type OwnerOptions } from "./owner.ts";
import type { BacklogDemand } from "./read-backlog.ts";

const OPTIONS: OwnerOptions = {
  concurrency: 4,
  ratePerSecond: undefined,
  newOwnerMs: 15_000,
  maxEndpoints: 10_000,
  breaker: { pausesMs: [1_000, 5_000, 15_000, 60_000], disableAfter: 1_000 },
  bounds: { inFlight: 24, bodiesBytes: 64 * 1024 },
};
const RETRY_MS = 2_000;
const START = new Date("2026-03-01T12:00:00.000Z");

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

const endpointId = (index: number) => `0190a1b2-0000-7000-8000-0000000000${index.toString(16).padStart(2, "0")}`;
/** The rows of these endpoints have large bodies. */
const LARGE = [3, 4].map(endpointId);
const LARGE_BYTES = 40 * 1024;
const organizationOf = (id: string) => `organization ${Number.parseInt(id.slice(-2), 16) % 3}`;

/** The message of an endpoint's change. */
const changeOf = (id: string) => ({ kind: "changed", endpointId: id, organizationId: organizationOf(id) }) as const;

type Ending = "succeeded" | "failed" | "put back" | "left" | "not stored" | "locked";

/** An owner in virtual time, and PostgreSQL as a table in memory that it reads late, and that publishers write. */
function world({ tookMs = (() => 5) as (endpointId: string) => number, options = {} as Partial<OwnerOptions> } = {}) {
  const clock = steeredClock(START);
  const rows = new Map<string, DueRow>();
  const made = new Map<string, number>();
  /** For each first attempt, whether its delivery had waited for its receiver. */
  const waited: boolean[] = [];
  const inFlight = new Map<string, Attempt>();
  const ofEndpoint = new Map<string, number>();
  const most = { all: 0, endpoint: 0, twice: 0, inTurn: 0, largeBytes: 0 };
  /** Attempts made, by organization. */
  const madeBy = new Map<string, number>();
  /** Attempts that began in this turn of the event loop. */
  let inTurn = 0;
  const lost = new Set<number>();
  const disabled = new Set<string>();
  let statements = 0;
  /** Deliveries that were read from PostgreSQL, to be attempted. */
  let read = 0;
  let configurations = 0;
  let revision = 1n;
  /** Deliveries that PostgreSQL has, or has had. */
  const stored = new Set<string>();
  /** Endpoints that could not be handled. */
  const errors: unknown[] = [];
  /** Values that tests change. */
  const set = {
    readMs: 2,
    ownedMs: Number.POSITIVE_INFINITY,
    isWriting: true,
    isOutage: false,
    ending: (_delivery: Delivery): Ending => "succeeded",
    unlocked: Promise.resolve(),
  };

  const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const deliveryOf = (row: DueRow): Delivery => ({
    ...row,
    organizationId: organizationOf(row.endpointId),
    eventType: "WorkItemCompleted",
    ...(LARGE.includes(row.endpointId) ? { body: null, bodyBytes: LARGE_BYTES } : { body: "{}", bodyBytes: 2 }),
    eventKey: null,
    traceparent: null,
    createdAt: START,
  });

  async function readBacklog({ endpointId: id, count, after, isWanted }: BacklogDemand): Promise<BacklogPage> {
    statements++;
    const isBehind = ({ dueAt, deliveryId }: DueRow) =>
      dueAt > after.dueAt || (dueAt.getTime() === after.dueAt.getTime() && deliveryId > after.deliveryId);
    const found = [...rows.values()]
      .filter((row) => row.endpointId === id && isBehind(row))
      .sort((one, other) => one.dueAt.getTime() - other.dueAt.getTime() || (one.deliveryId < other.deliveryId ? -1 : 1))
      .slice(0, count)
      .map((row) => ({ ...row }));
    const due = found.filter(isWanted);
    read += due.length;
    await later(set.readMs);
    return { rows: found, deliveries: due.map(deliveryOf) };
  }

  async function readConfiguration(id: string) {
    configurations++;
    const configuredAt = clock.now();
    await later(1);
    if (disabled.has(id)) return undefined;
    const configuration: Configuration = {
      url: "",
      sealedSecret: "",
      headers: null,
      quarantined: false,
      revision,
      failures: 0,
      pausedUntil: null,
    };
    return { configuration, configuredAt };
  }

  async function makeAttempt(attempt: Attempt): Promise<Outcome> {
    const { delivery, over } = attempt;
    const { deliveryId, endpointId: id } = delivery;
    if (inFlight.has(deliveryId)) most.twice++;
    if (inTurn++ === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    most.inTurn = Math.max(most.inTurn, inTurn);
    inFlight.set(deliveryId, attempt);
    ofEndpoint.set(id, (ofEndpoint.get(id) ?? 0) + 1);
    most.all = Math.max(most.all, inFlight.size);
    most.endpoint = Math.max(most.endpoint, ofEndpoint.get(id) ?? 0);
    const large = [...inFlight.values()].filter((each) => each.delivery.body === null).length;
    most.largeBytes = Math.max(most.largeBytes, large * LARGE_BYTES);
    const isOver = () => ofEndpoint.set(id, (ofEndpoint.get(id) ?? 0) - 1);
    const end = () => inFlight.delete(deliveryId);
    const without = (outcome: Outcome): Outcome => {
      isOver();
      end();
      return outcome;
    };
    const configuration = await attempt.configuration();
    if (configuration === undefined) return without({ kind: "gone" });
    if (delivery.arrived && delivery.arrived.revision !== String(configuration.revision)) {
      return without({ kind: "left", forMs: 0 });
    }
    const took = tookMs(id);
    await later(took);
    const ending = set.ending(delivery);
    if (ending === "put back") return without({ kind: ending, restMs: 100 });
    if (ending === "not stored") return without({ kind: "left", forMs: 1_000 });
    const key = `${deliveryId}/${delivery.attempts}`;
    made.set(key, (made.get(key) ?? 0) + 1);
    madeBy.set(delivery.organizationId, (madeBy.get(delivery.organizationId) ?? 0) + 1);
    if (delivery.attempts === 0) waited.push(attempt.keptWaiting);
    isOver();
    over(took);
    if (ending === "locked") {
      attempt.locked();
      await set.unlocked;
    }
    await later(3);
    end();
    if (ending === "left") return { kind: "left", forMs: 60_000 };
    if (delivery.arrived && !stored.has(deliveryId)) {
      stored.add(deliveryId);
      const { arrived: _arrived, ...row } = delivery;
      rows.set(deliveryId, row);
    }
    const row = rows.get(deliveryId);
    if (ending === "succeeded" || ending === "locked") {
      rows.delete(deliveryId);
      return { kind: "settled", nextAttemptAt: null };
    }
    const nextAttemptAt = new Date(clock.now().getTime() + RETRY_MS);
    if (row) rows.set(deliveryId, { ...row, attempts: row.attempts + 1, dueAt: nextAttemptAt });
    return { kind: "settled", nextAttemptAt };
  }

  const idle: number[] = [];
  const owner = createOwner(
    {
      ...basics({ clock, log: { ...SILENT, error: (_line, fields) => void errors.push(fields?.endpointId) } }),
      schedule: retrySchedule([RETRY_MS]),
      shards: {
        epochOf: (shard) => (lost.has(shard) ? undefined : 1),
        ownedMs: () => set.ownedMs,
        becameIdle: (shard) => void idle.push(shard),
      } as Partial<Shards> as Shards,
      outage: { isOn: () => set.isOutage } as Outage,
      readBacklog,
      readConfiguration,
      health: { has: () => false } as Partial<HealthQueue> as HealthQueue,
      settlements: { isWriting: () => set.isWriting } as SettleQueue,
      makeAttempt,
    },
    { ...OPTIONS, ...options },
  );

  let emitted = 0;
  /** New deliveries of an endpoint, as a publisher makes them of an event that comes now. */
  function emit(id: string, count: number): HandOver {
    const now = clock.now().toISOString();
    const deliveries = Array.from({ length: count }, () => {
      const deliveryId = `0190a1b2-0000-7000-9000-${(emitted++).toString(16).padStart(12, "0")}`;
      const organizationId = organizationOf(id);
      return { deliveryId, endpointId: id, organizationId, revision: String(revision), readAtUtc: now, event: 0 };
    });
    const key = "0190a1b2-0000-8000-8000-000000000000";
    const event = { eventType: "WorkItemCompleted", body: "{}", traceparent: null, key, receivedAtUtc: now };
    return { stored: true, events: [event], deliveries, work: [] };
  }

  /** The publisher's statement: what the owner has stored is left alone, and of the others there is a message. */
  function storeAll(handOver: HandOver): HandOver {
    const dueAt = new Date(handOver.events[0]?.receivedAtUtc ?? 0);
    const deliveries = handOver.deliveries.filter(({ deliveryId }) => !stored.has(deliveryId));
    for (const { deliveryId, endpointId } of deliveries) {
      stored.add(deliveryId);
      rows.set(deliveryId, { deliveryId, endpointId, dueAt, attempts: 0, interruptions: 0 });
    }
    return { ...handOver, stored: true, deliveries };
  }

  const store = (id: string, count = 1) => storeAll(emit(id, count));

  /** An event arrives, and is stored so much later. */
  function arrive(id: string, count: number, storeAfterMs: number): string[] {
    const arrived = emit(id, count);
    owner.handedOver({ ...arrived, stored: false });
    setTimeout(() => owner.handedOver(storeAll(arrived)), storeAfterMs);
    return arrived.deliveries.map(({ deliveryId }) => deliveryId);
  }

  function sweep(crashed: readonly number[] = []): void {
    const first = new Map<string, DueRow>();
    for (const row of [...rows.values()].sort((one, other) => one.dueAt.getTime() - other.dueAt.getTime())) {
      if (!first.has(row.endpointId) && !disabled.has(row.endpointId)) first.set(row.endpointId, row);
    }
    const found = [...first.values()].map((row) => ({
      ...row,
      organizationId: organizationOf(row.endpointId),
      revision,
      failures: 0,
      pausedUntil: null,
    }));
    owner.found(found, { crashed: new Set(crashed) });
  }

  async function pass(ms: number, { sweepEveryMs = 0 } = {}): Promise<void> {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1);
      await jest.advanceTimersByTimeAsync(1);
      if (sweepEveryMs > 0 && passed % sweepEveryMs === 0) sweep();
    }
  }

  return {
    owner,
    errors,
    clock,
    rows,
    made,
    madeBy,
    waited,
    most,
    lost,
    idle,
    disabled,
    inFlight,
    store,
    arrive,
    sweep,
    pass,
    statements: () => statements,
    read: () => read,
    configurations: () => configurations,
    /** The numbers of all deliveries so far, and of those that had their first attempt. */
    emitted: () => ({ all: emitted, attempted: [...made.keys()].filter((key) => key.endsWith("/0")).length }),
    /** An edit whose message to the owner is lost. */
    edit: () => {
      revision++;
    },
    set,
  };
}

describe("a hand-over", () => {
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

describe("retries", () => {
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
});

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

describe("a hand-over on arrival", () => {
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

describe("a retry that a sweep has found before it was due", () => {
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
});

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

const STEPS = ["edit", "hand over", "hand over late", "work", "changed", "sweep", "outage", "pass"];
/** After these a sweep finds rows: those of lost messages, and those behind which the owner has read on before they were stored or left. */
const SWEPT: readonly string[] = ["arrive", "lose the message", "lose the shard"];
const stepsOf = (...names: readonly string[]) =>
  fc.array(fc.record({ do: fc.constantFrom(...names), endpoint: fc.nat(4), count: fc.nat(12), ms: fc.nat(60) }), {
    maxLength: 30,
  });
const someSteps = fc.oneof(stepsOf(...STEPS, ...SWEPT, "arrive"), stepsOf(...STEPS));
const ENDINGS: Ending[] = ["succeeded", "succeeded", "failed", "put back"];
const endingsOf = (...names: Ending[]) => fc.array(fc.constantFrom(...names), { minLength: 1 });
const endings = fc.oneof(endingsOf(...ENDINGS), endingsOf(...ENDINGS, "not stored"));
// In a small memory, most of what is handed over is left to PostgreSQL.
const memories = fc.constantFrom(10, OPTIONS.bounds.bodiesBytes);

test("regression: a delivery that is handed over in time is not read from PostgreSQL, whatever sweeps find", async () => {
  const steps = stepsOf("hand over", "arrive", "lose the message", "sweep", "pass");
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(40), async (all, readMs) => {
      jest.useFakeTimers({ now: 0 });
      const { owner, store, arrive, sweep, pass, set, rows, read } = world({ tookMs: () => 2 });
      set.readMs = readMs;
      let unsaid = 0;
      for (const { do: what, endpoint, count, ms } of all) {
        const id = endpointId(endpoint);
        if (what === "arrive") arrive(id, count, ms);
        if (what === "hand over") owner.handedOver(store(id, count));
        if (what === "sweep") sweep();
        // Another endpoint has a backlog.
        if (what === "lose the message") unsaid += store(endpointId(5), count).deliveries.length;
        await pass(what === "pass" ? ms : 1);
      }
      // All events that arrived are stored by then, and all attempts have ended.
      await pass(1_500, { sweepEveryMs: 50 });
      expect(rows.size).toBe(0);
      expect(read()).toBeLessThanOrEqual(unsaid);
      await owner.idle();
    }),
    { numRuns: 200 },
  );
}, 240_000);

test("no attempt is made twice, no bound is exceeded, and no delivery is left out, in whatever order steps come", async () => {
  await fc.assert(
    fc.asyncProperty(someSteps, endings, fc.nat(40), memories, async (steps, ends, readMs, bodiesBytes) => {
      jest.useFakeTimers({ now: 0 });
      let [begun, ended] = [0, 0];
      const all = world({
        tookMs: () => (++begun % 16 === 7 ? 1_200 : 1 + (begun % 50)),
        options: { bounds: { ...OPTIONS.bounds, bodiesBytes } },
      });
      const { owner, store, arrive, edit, sweep, pass, rows, made, most, lost, set, inFlight, emitted, statements } =
        all;
      set.readMs = readMs;
      set.ending = () => ends[ended++ % ends.length] ?? "succeeded";
      const late: HandOver[] = [];
      for (const { do: what, endpoint, count, ms } of steps) {
        const id = endpointId(endpoint);
        const target = { endpointId: id, organizationId: organizationOf(id) };
        if (what === "arrive") arrive(id, count, 2 * ms);
        if (what === "edit") edit();
        if (what === "hand over") owner.handedOver(store(id, count));
        if (what === "hand over late") late.push(store(id, count));
        if (what === "lose the message") store(id, count);
        if (what === "work") {
          store(id, count);
          owner.handedOver({ stored: true, events: [], deliveries: [], work: [target] });
        }
        if (what === "changed") owner.changed({ kind: "changed", ...target });
        if (what === "sweep") sweep();
        if (what === "lose the shard") {
          // As a release does, when nothing of the shard is in flight.
          const shard = shardOf(id);
          lost.add(shard);
          while (owner.inFlightOf(shard) > 0) await pass(1);
          owner.lost([shard]);
          await pass(ms);
          lost.delete(shard);
          sweep();
        }
        if (what === "outage") {
          set.isOutage = true;
          await pass(ms);
          set.isOutage = false;
          owner.wake();
        }
        if (what === "pass") {
          await pass(ms);
          for (const handOver of late.splice(0)) owner.handedOver(handOver);
        }
      }
      set.ending = () => "succeeded";
      // All events that arrived are stored by then.
      await pass(150);
      for (const handOver of late.splice(0)) owner.handedOver(handOver);
      const sweepEveryMs = steps.some(({ do: what }) => SWEPT.includes(what)) || ends.includes("not stored") ? 100 : 0;
      for (let round = 0; round < 40 && rows.size > 0; round++) await pass(500, { sweepEveryMs });
      expect([rows.size, inFlight.size]).toEqual([0, 0]);
      expect(most.twice).toBe(0);
      expect(emitted().attempted).toBe(emitted().all);
      expect([...made.values()].filter((count) => count > 1)).toEqual([]);
      expect(most.endpoint).toBeLessThanOrEqual(OPTIONS.concurrency);
      expect(most.all).toBeLessThanOrEqual(OPTIONS.bounds.inFlight);
      // One body always fits into an empty budget.
      expect(most.largeBytes).toBeLessThanOrEqual(LARGE_BYTES);
      // Nothing is left in memory, or waits for a reading.
      await pass(1_500, { sweepEveryMs });
      const before = statements();
      owner.handedOver(store(endpointId(0), 4));
      await pass(1_400);
      expect([rows.size, statements()]).toEqual([0, before]);
      await owner.idle();
    }),
    { numRuns: 400 },
  );
}, 240_000);
