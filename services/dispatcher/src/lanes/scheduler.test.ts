import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import type { ClaimedDelivery } from "../sql/claimed-delivery.ts";
import { createBudget } from "./budget.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { createInterrupted } from "./interrupted.ts";
import { createScheduler, type SchedulerOptions } from "./scheduler.ts";
import type { Demand } from "./turns.ts";

let endAll = () => {};
// Attempts under way have timers.
afterEach(async () => {
  endAll();
  await turns();
  jest.useRealTimers();
});

/** A store of due deliveries, and attempts that end when the test says so. */
function environment({
  concurrency = 100,
  maxInFlight = 1_000,
  ...options
}: Partial<SchedulerOptions> & { concurrency?: number; maxInFlight?: number } = {}) {
  const due = new Map<string, number>();
  const claims: (readonly Demand[])[] = [];
  const underWay: { endpointId: string; over: () => void; end: () => void }[] = [];
  const failures: unknown[] = [];
  const slots = endpointSlots(() => 10);
  const parts = {
    slots,
    quarantine: { has: () => false },
    deliver: ({ endpointId }: ClaimedDelivery, over = () => {}) =>
      new Promise<void>((end) => underWay.push({ endpointId, over, end })),
    onFailure: (error: unknown) => failures.push(error),
  };
  const claimOne = (endpointId: string): ClaimedDelivery | undefined => {
    const count = due.get(endpointId) ?? 0;
    if (count === 0) return undefined;
    due.set(endpointId, count - 1);
    return endpoint(endpointId) as ClaimedDelivery;
  };
  const budget = createBudget({ maxInFlight });
  const scheduler = createScheduler({
    ...parts,
    lane: budget.lane(concurrency),
    claim: async (demands) => {
      claims.push(demands);
      return demands
        .flatMap(({ endpointId, count }) => Array.from({ length: count }, () => claimOne(endpointId)))
        .filter((each) => each !== undefined);
    },
    ...options,
  });
  const interrupted = createInterrupted({
    ...parts,
    lane: budget.lane(1),
    ...options,
    claim: async (endpointId) => claimOne(endpointId),
  });
  endAll = () => {
    for (const { end } of underWay.splice(0)) end();
  };
  return { due, claims, underWay, failures, slots, scheduler, interrupted };
}

const endpoint = (endpointId: string) => ({
  endpointId,
  organizationId: endpointId === "other" ? "another" : "organization",
});

const turns = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe("the scheduler", () => {
  test("a hint claims for the slots that are free, however few: the attempts under way may hang", async () => {
    const { due, underWay, scheduler } = environment();
    due.set("a", 7);
    scheduler.add(endpoint("a"));
    await turns();
    expect(underWay).toHaveLength(7);
    due.set("a", 3);
    scheduler.add(endpoint("a"));
    await turns();
    expect(underWay).toHaveLength(10);
  });

  test("endpoints that become ready together are claimed by one statement, each up to its slots", async () => {
    const { due, claims, underWay, scheduler } = environment();
    due.set("a", 25).set("b", 3);
    scheduler.add(endpoint("a"));
    scheduler.add(endpoint("b"));
    await turns();
    expect(claims[0]).toEqual([
      { ...endpoint("a"), count: 10 },
      { ...endpoint("b"), count: 10 },
    ]);
    expect(underWay).toHaveLength(13);
  });

  test("an endpoint's backlog goes on as its slots come free, and ends with a claim that finds nothing", async () => {
    const { due, claims, underWay, scheduler } = environment();
    due.set("a", 20);
    scheduler.add(endpoint("a"));
    await turns();
    expect(underWay).toHaveLength(10);
    endAll();
    await turns();
    expect(underWay).toHaveLength(10);
    endAll();
    await turns();
    expect(claims).toHaveLength(3);
    expect(underWay).toHaveLength(0);
  });

  test("a hint that comes while its endpoint is being claimed leads to another claim", async () => {
    const { due, claims, scheduler } = environment();
    scheduler.add(endpoint("a"));
    await new Promise((resolve) => setImmediate(resolve));
    due.set("a", 1);
    scheduler.add(endpoint("a"));
    await turns();
    expect(claims.length).toBeGreaterThan(1);
    expect(due.get("a")).toBe(0);
  });

  test("a claim that fails gives its slots back, and is made again when its endpoint is found again", async () => {
    const { due, failures, slots, scheduler, underWay } = environment({
      claim: async () => {
        throw new Error("PostgreSQL is away");
      },
    });
    due.set("a", 5);
    scheduler.add(endpoint("a"));
    await turns();
    expect(failures).toHaveLength(1);
    expect(slots.total()).toBe(0);
    expect(underWay).toHaveLength(0);
  });

  test("attempts that are slow leave their places to others, and a quarter of everything in flight stays for other organizations", async () => {
    // Steered, so that the attempts that began together become slow together.
    jest.useFakeTimers({ doNotFake: ["setImmediate", "clearImmediate", "nextTick", "queueMicrotask"] });
    const { due, underWay, scheduler } = environment({ concurrency: 10, maxInFlight: 24 });
    for (const id of ["a", "b", "c", "d"]) due.set(id, 10);
    for (const id of ["a", "b", "c", "d"]) scheduler.add(endpoint(id));
    await turns();
    expect(underWay).toHaveLength(10);
    // Nothing ends. After a second each, the attempts stop counting, until three quarters are in flight.
    for (const inFlight of [18, 18, 18]) {
      jest.advanceTimersByTime(1_000);
      await turns();
      expect(underWay).toHaveLength(inFlight);
    }
    due.set("other", 10);
    scheduler.add(endpoint("other"));
    // It begins at once, and may hold no more than it leaves free.
    for (const inFlight of [20, 21, 21]) {
      await turns();
      expect(underWay).toHaveLength(inFlight);
      jest.advanceTimersByTime(1_000);
    }
    const stopping = scheduler.stop();
    endAll();
    await stopping;
  });

  test("nothing is claimed while nothing may be, and all that waited is once it may", async () => {
    let may = false;
    const { due, claims, underWay, scheduler } = environment({ mayClaim: () => may });
    due.set("a", 3);
    scheduler.add(endpoint("a"));
    await turns();
    expect(scheduler.offer(endpoint("b") as ClaimedDelivery)).toBe(false);
    expect(claims).toEqual([]);
    may = true;
    scheduler.wake();
    await turns();
    expect(underWay).toHaveLength(3);
  });

  test("the receiver's slot is free when its answer is there, and what is not settled yet still counts", async () => {
    const { due, underWay, slots, scheduler } = environment({ concurrency: 20 });
    due.set("a", 30);
    scheduler.add(endpoint("a"));
    await turns();
    expect(underWay).toHaveLength(10);
    for (const { over } of underWay) over();
    await turns();
    expect(underWay).toHaveLength(20);
    expect(slots.total()).toBe(10);
    for (const { over } of underWay) over();
    await turns();
    expect(underWay).toHaveLength(20);
    expect(slots.total()).toBe(0);
    endAll();
    await turns();
    expect(underWay).toHaveLength(10);
  });

  test("a delivery that needs no claim is attempted at once, where a slot is free and no other of its endpoint waits", async () => {
    const { due, underWay, claims, slots, scheduler } = environment();
    const offer = (endpointId: string) => scheduler.offer(endpoint(endpointId) as ClaimedDelivery);
    for (let count = 0; count < 10; count++) expect(offer("a")).toBe(true);
    expect(offer("a")).toBe(false);
    expect(underWay).toHaveLength(10);
    expect(slots.total()).toBe(10);
    due.set("b", 20);
    scheduler.add(endpoint("b"));
    expect(offer("b")).toBe(false);
    await turns();
    expect(claims.flat().map(({ endpointId }) => endpointId)).toEqual(["b"]);
    const stopping = scheduler.stop();
    expect(offer("c")).toBe(false);
    endAll();
    await stopping;
  });

  test("an endpoint under quarantine is not claimed, and those that were ready before it are", async () => {
    const quarantine = new Set<string>();
    const { due, claims, scheduler } = environment({ quarantine });
    due.set("a", 5).set("b", 5);
    scheduler.add(endpoint("a"));
    scheduler.add(endpoint("b"));
    quarantine.add("a");
    scheduler.add(endpoint("a"));
    await turns();
    expect(claims.flat().map(({ endpointId }) => endpointId)).toEqual(["b"]);
  });

  test("a stop claims nothing more, and waits for what is under way", async () => {
    const { due, claims, scheduler } = environment();
    due.set("a", 30);
    scheduler.add(endpoint("a"));
    await turns();
    let stopped = false;
    const stopping = scheduler.stop().then(() => {
      stopped = true;
    });
    await turns();
    expect(stopped).toBe(false);
    endAll();
    await stopping;
    expect(claims).toHaveLength(1);
  });
});

describe("interrupted deliveries", () => {
  test("interrupted deliveries are attempted one after another, by turns between endpoints", async () => {
    const { due, underWay, interrupted } = environment();
    due.set("a", 2).set("b", 2);
    interrupted.add(endpoint("a"));
    interrupted.add(endpoint("b"));
    const order: string[] = [];
    for (let index = 0; index < 4; index++) {
      await eventually(() => expect(underWay).toHaveLength(1));
      order.push(underWay[0]?.endpointId as string);
      endAll();
    }
    await interrupted.stop();
    expect(order).toEqual(["a", "b", "a", "b"]);
  });

  test("slots that a claim took and gives back are told, since an interrupted delivery may wait for them", async () => {
    const released: string[] = [];
    const { scheduler } = environment({ onReleased: (endpointId) => void released.push(endpointId) });
    scheduler.add(endpoint("a"));
    await turns();
    expect(released).toEqual(["a"]);
  });

  test("an interrupted delivery that is only slow does not hold up the next one", async () => {
    const { due, underWay, interrupted } = environment();
    due.set("a", 2);
    interrupted.add(endpoint("a"));
    await turns();
    expect(underWay).toHaveLength(1);
    await eventually(() => expect(underWay).toHaveLength(2));
    endAll();
    await interrupted.stop();
  });
});
