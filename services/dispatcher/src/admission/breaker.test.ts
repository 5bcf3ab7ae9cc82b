import { type SteeredClock, steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, expect, test } from "@jest/globals";
import { type Breaker, createBreaker, type StoredHealth } from "./breaker.ts";
import type { Failure } from "./failure-run.ts";

const OPTIONS = { pausesMs: [1_000, 5_000, 15_000, 60_000], disableAfter: 5 };
const HEALTHY: StoredHealth = { failures: 0, pausedUntil: null };
const NO_LIMIT = Number.POSITIVE_INFINITY;

let clock: SteeredClock;
let breaker: Breaker;
beforeEach(() => {
  clock = steeredClock();
  breaker = createBreaker(clock, OPTIONS, HEALTHY);
});

const inSeconds = (seconds: number) => new Date(clock.now().getTime() + seconds * 1_000);

/** An attempt that takes a millisecond. */
function fail(override: Partial<Failure> = {}): void {
  breaker.begin();
  const startedAt = clock.now();
  clock.advance(1);
  breaker.failed({ startedAt, durationMs: 1, retryAfterMs: null, manual: false, ...override });
}

/** Passes the time until an attempt may begin. Returns how long that took. */
function wait(): number {
  const waitMs = breaker.waitMs();
  clock.advance(waitMs);
  return waitMs;
}

test("an endpoint that does not fail has no limit", () => {
  expect([breaker.limit(), breaker.waitMs(), breaker.isFailing(), breaker.isHealthy()]).toEqual([
    NO_LIMIT,
    0,
    false,
    true,
  ]);
  breaker.succeeded();
  expect(breaker.limit()).toBe(NO_LIMIT);
});

test("an endpoint whose stored health has failures rests until its pause is over, and has one attempt then", () => {
  breaker = createBreaker(clock, OPTIONS, { failures: 2, pausedUntil: inSeconds(2) });
  expect([breaker.limit(), breaker.waitMs()]).toEqual([0, 2_000]);
  clock.advance(1_999);
  expect(breaker.limit()).toBe(0);
  clock.advance(1);
  expect(breaker.limit()).toBe(1);
});

test("the pauses after failures that follow one another outlast the reboot of a machine, and after the fifth nothing begins", () => {
  const waitsMs: number[] = [];
  // With Retry-After there are no probes.
  for (let failures = 1; failures <= 5; failures++) {
    waitsMs.push(wait());
    fail({ retryAfterMs: 1 });
  }
  expect(waitsMs).toEqual([0, 1_000, 5_000, 15_000, 60_000]);
  clock.advance(600_000);
  expect([breaker.limit(), breaker.isOpenForGood()]).toEqual([0, true]);
});

test("an endpoint that was resumed has one attempt until a success", () => {
  fail();
  breaker.reset(HEALTHY);
  expect([breaker.limit(), breaker.isHealthy()]).toEqual([1, false]);
  breaker.succeeded();
  expect([breaker.limit(), breaker.isHealthy()]).toEqual([NO_LIMIT, true]);
});

test("an endpoint that is enabled is asked, whatever the number of its stored failures: the setting may be new", () => {
  breaker = createBreaker(clock, OPTIONS, { failures: 7, pausedUntil: inSeconds(-1) });
  expect([breaker.limit(), breaker.isOpenForGood()]).toEqual([1, false]);
});

test("a success lifts the pause at once", () => {
  breaker = createBreaker(clock, OPTIONS, { failures: 3, pausedUntil: inSeconds(4) });
  breaker.succeeded();
  expect([breaker.limit(), breaker.waitMs()]).toEqual([NO_LIMIT, 0]);
});

test("an endpoint that took its deliveries until now has five probes, at growing intervals, and then rests for the whole pause", () => {
  fail();
  const probesMs: number[] = [];
  for (let probe = 0; probe < 5; probe++) {
    probesMs.push(wait());
    fail();
  }
  expect(probesMs).toEqual([10, 20, 40, 80, 160]);
  // Each probe took a millisecond.
  expect(wait()).toBe(1_000 - 10 - 20 - 40 - 80 - 160 - 5);
});

test("there is one probe at a time, and if nothing is heard of it the pause goes on", () => {
  fail();
  clock.advance(10);
  expect([breaker.limit(), breaker.waitMs()]).toEqual([1, 0]);
  breaker.begin();
  expect([breaker.limit(), breaker.waitMs()]).toEqual([0, 990]);
  clock.advance(990);
  expect([breaker.limit(), breaker.waitMs()]).toEqual([1, 0]);
});

test("an endpoint that refuses one delivery in three has its probes, however long that goes on", () => {
  let waitedMs = 0;
  for (let round = 0; round < 200; round++) {
    for (const succeeds of [true, true, false]) {
      waitedMs += wait();
      if (succeeds) breaker.succeeded();
      else fail();
    }
  }
  expect(waitedMs).toBe(199 * 10);
});

test("a receiver that asks to be left alone has no probes", () => {
  fail({ retryAfterMs: 60_000 });
  expect(breaker.waitMs()).toBe(60_000);
  clock.advance(59_999);
  expect(breaker.limit()).toBe(0);
  clock.advance(1);
  expect(breaker.limit()).toBe(1);
});

test("§3.1 a receiver that is away for a minute under traffic is not disabled", () => {
  const backAt = inSeconds(60).getTime();
  while (clock.now().getTime() < backAt) {
    wait();
    if (clock.now().getTime() < backAt) fail();
  }
  expect(breaker.isOpenForGood()).toBe(false);
});
