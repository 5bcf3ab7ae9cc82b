import { steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, expect, test } from "@jest/globals";
import { createDatabaseClock, type DatabaseClock, TimeUnknownError } from "./database-clock.ts";

const DATABASE_TIME = Date.parse("2026-03-01T12:00:00.000Z");
const DAY_MS = 86_400_000;

let machine: ReturnType<typeof steeredClock>;
let clock: DatabaseClock;

beforeEach(() => {
  machine = steeredClock("2001-01-01T00:00:00.000Z");
  clock = createDatabaseClock(machine);
});

/** Asks PostgreSQL for its time. The answer takes this long before the moment that it names, and this long after it. */
function ask({
  there = 0,
  back = 0,
  databaseMs = trueMs(),
}: {
  there?: number;
  back?: number;
  databaseMs?: number;
} = {}) {
  const askedMs = machine.monotonicMs();
  machine.advance(there);
  const said = databaseMs + there;
  machine.advance(back);
  clock.update({ askedMs, databaseMs: said, answeredMs: machine.monotonicMs() });
}

/** PostgreSQL's time while its clock is not set. */
const trueMs = () => DATABASE_TIME + machine.monotonicMs();
/** How far the clock is ahead of PostgreSQL's. */
const offMs = () => clock.now().getTime() - trueMs();

test("before the first answer of PostgreSQL the time is unknown, and asking for it fails at once", async () => {
  expect(() => clock.now()).toThrow(TimeUnknownError);
  expect(() => clock.machineAheadMs()).toThrow(TimeUnknownError);
  ask();
  await clock.known;
  expect(offMs()).toBe(0);
});

test("the time is PostgreSQL's, and goes on by the monotonic clock, whatever the machine's clock is set to", () => {
  ask();
  machine.advance(5_000);
  expect(offMs()).toBe(0);
  for (const aheadMs of [400_000, -400_000, DAY_MS, -DAY_MS]) {
    machine.set(new Date(trueMs() + aheadMs));
    expect(offMs()).toBe(0);
    // Only this far is it certain: two clocks may have drifted apart in these five seconds.
    expect(Math.abs(clock.machineAheadMs() - aheadMs)).toBeLessThanOrEqual(4);
  }
});

test("PostgreSQL's time is taken to be that of the middle of the round trip", () => {
  ask({ there: 10, back: 10 });
  expect(offMs()).toBe(0);
  ask({ there: 0, back: 40 });
  // The first one was better.
  expect(Math.abs(offMs())).toBeLessThanOrEqual(1);
});

test("an answer that took long does not worsen what is known", () => {
  ask({ there: 1, back: 1 });
  for (let times = 0; times < 20; times++) {
    ask({ there: 0, back: 3_000 });
    expect(Math.abs(offMs())).toBeLessThanOrEqual(1);
  }
});

test("an answer that came quickly betters what is known", () => {
  ask({ there: 0, back: 400 });
  expect(Math.abs(offMs())).toBeGreaterThan(100);
  ask({ there: 1, back: 1 });
  expect(Math.abs(offMs())).toBeLessThanOrEqual(2);
});

test("the time never goes back for answers that are now quick and now slow", () => {
  let before = Number.NEGATIVE_INFINITY;
  for (const [there, back] of [
    [0, 80],
    [80, 0],
    [1, 2],
    [0, 30],
    [5, 0],
    [200, 1],
  ] as const) {
    ask({ there, back });
    expect(clock.now().getTime()).toBeGreaterThanOrEqual(before);
    before = clock.now().getTime();
  }
});

test.each([400_000, DAY_MS, -400_000, -DAY_MS, 50])(
  "if PostgreSQL's own clock moves by %d ms, the time follows with the next answer",
  (movedMs) => {
    ask({ there: 2, back: 2 });
    clock.now();
    machine.advance(1_000);
    ask({ there: 2, back: 2, databaseMs: trueMs() + movedMs });
    expect(Math.abs(offMs() - movedMs)).toBeLessThanOrEqual(1);
  },
);

test("if PostgreSQL's clock was set back by less than a second, the time stands still until PostgreSQL has caught up", () => {
  ask();
  const before = clock.now().getTime();
  ask({ databaseMs: trueMs() - 300 });
  expect(clock.now().getTime()).toBe(before);
  machine.advance(200);
  expect(clock.now().getTime()).toBe(before);
  machine.advance(200);
  expect(clock.now().getTime()).toBe(before + 100);
});

test("while PostgreSQL is away the time goes on, and its next answer is believed as far as two clocks may have drifted apart", () => {
  ask({ there: 1, back: 1 });
  machine.advance(3_600_000);
  expect(offMs()).toBe(0);
  // 200 ppm in an hour.
  ask({ there: 1, back: 1, databaseMs: trueMs() - 720 });
  machine.advance(1_000);
  expect(Math.abs(offMs() + 720)).toBeLessThanOrEqual(1);
});

test("a machine's clock that may be right within the round trip is not said to be wrong", () => {
  ask({ there: 0, back: 400 });
  machine.set(new Date(trueMs()));
  expect(clock.machineAheadMs()).toBeCloseTo(0);
});
