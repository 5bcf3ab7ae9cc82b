import { type SteeredClock, steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import type { Failure } from "./failure-run.ts";
import { createPatience, type Patience } from "./patience.ts";

const FIRST = { count: 4, first: true };
const OTHER = { count: 3, first: false };
const SETTINGS = { patienceMs: [1_000, 2_000, 4_000, 8_000], disableAfter: 5, attemptMs: 15_000 };

let clock: SteeredClock;
let patience: Patience;
let ready: string[];
let written: Set<string>;

beforeEach(() => {
  jest.useFakeTimers();
  clock = steeredClock();
  ready = [];
  written = new Set();
  const parts = {
    clock,
    onReady: (endpointId: string) => void ready.push(endpointId),
    isBeingWritten: (endpointId: string) => written.has(endpointId),
  };
  patience = createPatience(parts, SETTINGS);
});
afterEach(() => void jest.useRealTimers());

/** Time passes for the clock, and for timers. */
function pass(ms: number): void {
  for (let passed = 0; passed < ms; passed++) {
    clock.advance(1);
    jest.advanceTimersByTime(1);
  }
}

/** An attempt that takes a millisecond. */
function fail(endpointId: string, override: Partial<Failure> = {}): () => void {
  pass(1);
  const startedAt = new Date(clock.now().getTime() - 1);
  return patience.failed(endpointId, { startedAt, durationMs: 1, retryAfterMs: null, manual: false, ...override });
}

/** Passes the time until an attempt may begin, and begins it. Returns how long that took. */
function begin(endpointId: string): number {
  const waitMs = patience.begin(endpointId);
  if (waitMs === 0) return 0;
  pass(waitMs);
  return waitMs + begin(endpointId);
}

const inSeconds = (seconds: number) => new Date(clock.now().getTime() + seconds * 1_000);

test("an endpoint that does not fail has its whole share", () => {
  expect([patience.limit("a", FIRST), patience.limit("a", OTHER), patience.begin("a")]).toEqual([4, 3, 0]);
  patience.succeeded("a")();
  expect(patience.limit("a", FIRST)).toBe(4);
});

test("an endpoint that fails rests at once, and then has one attempt, of the first dispatcher", () => {
  patience.learn({ endpointId: "a", failures: 2, pausedUntil: inSeconds(2) });
  expect([patience.limit("a", FIRST), patience.limit("a", OTHER), patience.begin("a")]).toEqual([0, 0, 2_000]);
  pass(1_999);
  expect([patience.limit("a", FIRST), ready]).toEqual([0, []]);
  pass(1);
  expect([patience.limit("a", FIRST), patience.limit("a", OTHER), ready]).toEqual([1, 0, ["a"]]);
  expect(patience.limit("b", FIRST)).toBe(4);
});

test("the pauses after failures that follow one another are 1, 2, 4 and 8 seconds, and after the fifth nothing begins", () => {
  const waitsMs: number[] = [];
  // With Retry-After there are no quick looks.
  for (let failures = 1; failures <= 5; failures++) {
    waitsMs.push(begin("a"));
    fail("a", { retryAfterMs: 1 })();
  }
  expect(waitsMs).toEqual([0, 1_000, 2_000, 4_000, 8_000]);
  pass(60_000);
  expect([patience.limit("a", FIRST), patience.begin("a") > 0]).toEqual([0, true]);
  patience.learn({ endpointId: "a", failures: 0, pausedUntil: null });
  expect([patience.limit("a", FIRST), patience.begin("a")]).toEqual([1, 0]);
});

test("an endpoint that was resumed, or that another dispatcher has found well, has one attempt until a success", () => {
  patience.learn({ endpointId: "a", failures: 3, pausedUntil: inSeconds(4) });
  patience.learn({ endpointId: "a", failures: 0, pausedUntil: null });
  expect([
    patience.limit("a", FIRST),
    patience.limit("a", OTHER),
    patience.limit("a", { count: 0, first: false }),
  ]).toEqual([1, 1, 0]);
  patience.succeeded("a")();
  expect(patience.limit("a", FIRST)).toBe(4);
});

test("a success lifts the pause at once", () => {
  patience.learn({ endpointId: "a", failures: 3, pausedUntil: inSeconds(4) });
  patience.succeeded("a")();
  expect([patience.limit("a", FIRST), patience.begin("a")]).toEqual([4, 0]);
});

test("an endpoint that took its deliveries until now has five quick looks, at growing intervals, and then rests for the whole pause", () => {
  fail("a")();
  const looksMs: number[] = [];
  for (let look = 0; look < 5; look++) {
    looksMs.push(begin("a"));
    expect(patience.limit("a", OTHER)).toBe(0);
    fail("a")();
  }
  expect(looksMs).toEqual([10, 20, 40, 80, 160]);
  // Each look took a millisecond.
  expect(begin("a")).toBe(1_000 - 10 - 20 - 40 - 80 - 160 - 5);
});

test("there is one quick look at a time, and if nothing is heard of it the pause goes on", () => {
  fail("a")();
  pass(10);
  expect([patience.limit("a", FIRST), patience.begin("a")]).toEqual([1, 0]);
  expect([patience.limit("a", FIRST), patience.begin("a")]).toEqual([0, 990]);
  ready = [];
  pass(990);
  expect([patience.limit("a", FIRST), patience.begin("a"), ready]).toEqual([1, 0, ["a"]]);
});

test("an endpoint that refuses one delivery in three has its looks, however long that goes on", () => {
  let waitedMs = 0;
  for (let round = 0; round < 200; round++) {
    for (const succeeds of [true, true, false]) {
      waitedMs += begin("a");
      if (succeeds) patience.succeeded("a")();
      else fail("a")();
    }
  }
  expect(waitedMs).toBe(199 * 10);
});

test("a receiver that asks to be left alone has no quick looks", () => {
  fail("a", { retryAfterMs: 60_000 })();
  expect(patience.begin("a")).toBe(60_000);
  pass(59_999);
  expect(patience.limit("a", FIRST)).toBe(0);
  pass(1);
  expect([patience.limit("a", FIRST), ready]).toEqual([1, ["a"]]);
});

test("what PostgreSQL says is older than what is known here, until the result is settled and written", () => {
  const settled = fail("a");
  const healthy = { endpointId: "a", failures: 0, pausedUntil: null };
  patience.learn(healthy);
  expect(patience.limit("a", FIRST)).toBe(0);
  written.add("a");
  settled();
  patience.learn(healthy);
  expect(patience.limit("a", FIRST)).toBe(0);
  written.clear();
  patience.learn(healthy);
  expect(patience.limit("a", FIRST)).toBe(1);
});

test("what was read before a failure was written down does not end its pause", () => {
  patience.learn({ endpointId: "a", failures: 2, pausedUntil: inSeconds(2) });
  patience.learn({ endpointId: "a", failures: 1, pausedUntil: inSeconds(0) });
  pass(1_999);
  expect(patience.limit("a", FIRST)).toBe(0);
});

test("the first dispatcher goes on with an endpoint that it has seen disabled, and that was resumed and failed elsewhere since", () => {
  const settled: (() => void)[] = [];
  for (const pauseMs of [0, 1_000, 2_000, 4_000, 8_000]) {
    pass(pauseMs);
    settled.push(fail("a"));
  }
  for (const each of settled) each();
  const elsewhere = { endpointId: "a", failures: 1, pausedUntil: inSeconds(2) };
  // A due scan comes each second.
  for (let second = 1; second < 5; second++) {
    pass(1_000);
    patience.learn(elsewhere);
    expect(patience.limit("a", FIRST)).toBe(0);
  }
  pass(1_000);
  patience.learn(elsewhere);
  expect([patience.limit("a", FIRST), patience.begin("a")]).toEqual([1, 0]);
});

test("where the first dispatcher makes no attempt after the pause, another one does, however often a due scan repeats what is known", () => {
  const failing = { endpointId: "a", failures: 1, pausedUntil: inSeconds(8) };
  // The first one has the time of an attempt, and five seconds more.
  for (let second = 0; second < 28; second++) {
    patience.learn(failing);
    expect(patience.limit("a", OTHER)).toBe(0);
    pass(1_000);
  }
  patience.learn(failing);
  expect([patience.limit("a", OTHER), patience.limit("a", FIRST), patience.begin("a")]).toEqual([1, 1, 0]);
  // It failed there too, and then it is the first one's again.
  patience.learn({ endpointId: "a", failures: 2, pausedUntil: inSeconds(-1) });
  expect(patience.limit("a", OTHER)).toBe(0);
});

test("only so many endpoints are remembered: the one of which nothing was heard for longest is forgotten", () => {
  const pausedUntil = inSeconds(8);
  for (let index = 0; index <= 10_000; index++) patience.learn({ endpointId: `e${index}`, failures: 4, pausedUntil });
  expect([patience.limit("e0", FIRST), patience.limit("e1", FIRST)]).toEqual([4, 0]);
});
