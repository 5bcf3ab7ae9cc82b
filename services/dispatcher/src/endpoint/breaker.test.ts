import { type SteeredClock, steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, expect, test } from "@jest/globals";
import type { StoredHealth } from "../sql/rows.ts";
import { type Breaker, createBreaker } from "./breaker.ts";
import { afterFailure, type Failure, type FailureRun, HEALTHY } from "./failure-run.ts";

const OPTIONS = { pausesMs: [1_000, 5_000, 15_000, 60_000], disableAfter: 5 };
const STORED_WELL: StoredHealth = { failures: 0, pausedUntil: null };
const NO_LIMIT = Number.POSITIVE_INFINITY;

let clock: SteeredClock;
let breaker: Breaker;
beforeEach(() => {
  clock = steeredClock();
  breaker = breakerWith(STORED_WELL);
});

const inSeconds = (seconds: number) => new Date(clock.now().getTime() + seconds * 1_000);

/** An attempt that takes a millisecond. */
function fail(override: Partial<Failure> = {}): void {
  breaker.begin();
  const startedAt = clock.now();
  clock.advance(1);
  breaker.failed({ startedAt, durationMs: 1, retryAfterMs: null, manual: false, ...override });
}

function breakerWith(stored: StoredHealth): Breaker {
  const created = createBreaker(clock, OPTIONS);
  created.know(stored);
  return created;
}

/** Passes the time until an attempt may begin. Returns how long that took. */
function wait(): number {
  const waitMs = breaker.waitMs();
  clock.advance(waitMs);
  return waitMs;
}

test("an endpoint whose stored health has failures rests until its pause is over, and has one attempt then", () => {
  breaker = breakerWith({ failures: 2, pausedUntil: inSeconds(2) });
  expect([breaker.limit(), breaker.waitMs()]).toEqual([0, 2_000]);
  clock.advance(1_999);
  expect(breaker.limit()).toBe(0);
  clock.advance(1);
  expect(breaker.limit()).toBe(1);
});

test.each<[string, () => void]>([
  ["stored", () => (breaker = breakerWith({ failures: 1, pausedUntil: inSeconds(3_600) }))],
  [
    "known",
    () => {
      fail({ retryAfterMs: 1 });
      clock.set(inSeconds(-3_600));
    },
  ],
])(
  "§3.1/failures regression: a %s pause from before PostgreSQL's clock was set back by an hour is over, and the next failure counts",
  (_what, pause) => {
    pause();
    expect([breaker.limit(), breaker.waitMs()]).toEqual([1, 0]);
    for (let failures = 2; failures <= 5; failures++) {
      expect(breaker.isOpenForGood()).toBe(false);
      wait();
      fail({ retryAfterMs: 1 });
    }
    expect(breaker.isOpenForGood()).toBe(true);
  },
);

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
  breaker.reset(STORED_WELL);
  expect([breaker.limit(), breaker.isHealthy()]).toEqual([1, false]);
  breaker.succeeded();
  expect([breaker.limit(), breaker.isHealthy()]).toEqual([NO_LIMIT, true]);
});

test("an endpoint that is enabled is asked, whatever the number of its stored failures: the setting may be new", () => {
  breaker = breakerWith({ failures: 7, pausedUntil: inSeconds(-1) });
  expect([breaker.limit(), breaker.isOpenForGood()]).toEqual([1, false]);
});

test("a success lifts the pause at once", () => {
  breaker = breakerWith({ failures: 3, pausedUntil: inSeconds(4) });
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

test("there is one probe at a time, and if it brings no result the pause goes on", () => {
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

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000];
const BEGIN_MS = Date.parse("2026-03-01T12:00:00Z");
const at = (ms: number) => new Date(BEGIN_MS + ms);

/** An attempt that begins `startMs` milliseconds after the beginning, and takes ten. */
function failure(startMs: number, override: Partial<Failure> = {}): Failure {
  return { startedAt: at(startMs), durationMs: 10, retryAfterMs: null, manual: false, ...override };
}

function runOf(failures: readonly Failure[]): FailureRun {
  return failures.reduce((run, each) => afterFailure(run, each, PAUSES_MS), HEALTHY);
}

test("five attempts that fail at the same moment are one failure", () => {
  const run = runOf([0, 0, 3, 5, 9].map((startMs) => failure(startMs)));
  expect(run).toEqual({ failures: 1, failedAt: at(10), pausedUntil: at(1_010) });
});

test("regression: an attempt that began before the last counted one ended does not count, however long it took", () => {
  expect(runOf([failure(3_600_000), failure(0, { durationMs: 3_600_020 })]).failures).toBe(1);
});

test("an attempt that begins when the last one ends overlaps it, and one that begins later follows it", () => {
  const first = afterFailure(HEALTHY, failure(0), [0]);
  expect(afterFailure(first, failure(10), [0]).failures).toBe(1);
  expect(afterFailure(first, failure(11), [0]).failures).toBe(2);
});

test("the pauses after four failures are 1, 2, 4 and 8 seconds, and each further one is the last", () => {
  let run = HEALTHY;
  const pausesMs: number[] = [];
  for (let count = 0; count < 6; count++) {
    const startMs = (run.pausedUntil?.getTime() ?? BEGIN_MS) - BEGIN_MS;
    run = afterFailure(run, failure(startMs), PAUSES_MS);
    pausesMs.push((run.pausedUntil?.getTime() ?? 0) - (run.failedAt?.getTime() ?? 0));
  }
  expect(run.failures).toBe(6);
  expect(pausesMs).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
});

test("an attempt during the pause counts if it is a manual one, and its pause is added", () => {
  const first = runOf([failure(0)]);
  expect(afterFailure(first, failure(500), PAUSES_MS)).toEqual(first);
  expect(afterFailure(first, failure(500, { manual: true }), PAUSES_MS)).toEqual({
    failures: 2,
    failedAt: at(510),
    pausedUntil: at(2_510),
  });
});

test("a receiver that asks for it is left alone for longer, and never for less than the pause", () => {
  expect(runOf([failure(0, { retryAfterMs: 60_000 })]).pausedUntil).toEqual(at(60_010));
  expect(runOf([failure(0, { retryAfterMs: 1 })]).pausedUntil).toEqual(at(1_010));
});

test("a failure that does not count makes the pause longer if the receiver asks for it, and never shorter", () => {
  const asked = runOf([failure(0), failure(5, { retryAfterMs: 30_000 })]);
  expect(asked).toEqual({ failures: 1, failedAt: at(10), pausedUntil: at(30_015) });
  expect(afterFailure(asked, failure(6, { retryAfterMs: 10 }), PAUSES_MS)).toEqual(asked);
});
