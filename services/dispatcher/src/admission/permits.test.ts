import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { createByteBudget } from "./byte-budget.ts";
import { createLatencies } from "./latencies.ts";
import { createPermits, type Permit, type Permits, SPEEDS, type Speed } from "./permits.ts";

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

/** Takes permits of this speed while there are some. */
function takeAll(permits: Permits, speed: Speed): Permit[] {
  const taken: Permit[] = [];
  while (permits.mayTake(speed)) taken.push(permits.take(speed));
  return taken;
}

test("slow endpoints have half of the permits together, three quarters with quick ones, and those that answer have the rest", () => {
  const permits = createPermits(20);
  const taken = SPEEDS.toReversed().map((speed) => takeAll(permits, speed).length);
  expect(taken).toEqual([10, 5, 5]);
});

test("those that answer may have all permits, and leave none of another's behind", () => {
  const permits = createPermits(20);
  const taken = takeAll(permits, "answering");
  expect(taken).toHaveLength(20);
  for (const permit of taken.slice(0, 12)) permit.settled();
  expect(takeAll(permits, "slow")).toHaveLength(10);
  expect(takeAll(permits, "quick")).toHaveLength(2);
});

test("an attempt that takes long counts with the slow ones, until it is over, and takes room until it is settled", () => {
  const permits = createPermits(4);
  const answering = permits.take("answering");
  permits.take("slow");
  expect(permits.mayTake("slow")).toBe(true);
  answering.slow();
  expect([permits.mayTake("slow"), permits.mayTake("quick")]).toEqual([false, true]);
  answering.ended();
  expect(permits.mayTake("slow")).toBe(true);
  permits.take("answering");
  permits.take("answering");
  expect(permits.mayTake("answering")).toBe(false);
  answering.settled();
  expect(permits.mayTake("answering")).toBe(true);
});

test("however the steps of permits come, all are free again in the end", () => {
  const steps = fc.array(fc.tuple(fc.nat(9), fc.constantFrom("slow", "ended", "settled")), { maxLength: 100 });
  const speeds = fc.array(fc.constantFrom(...SPEEDS), { minLength: 10, maxLength: 10 });
  fc.assert(
    fc.property(speeds, steps, (speeds, steps) => {
      const permits = createPermits(10);
      const taken = speeds.map((speed) => permits.take(speed));
      for (const [index, step] of steps) (taken[index] as Permit)[step as keyof Permit]();
      for (const permit of taken) permit.settled();
      expect(SPEEDS.toReversed().map((speed) => takeAll(permits, speed).length)).toEqual([5, 2, 3]);
    }),
  );
});

test("an endpoint is quick by the mean of its attempts, and for a moment it is known to answer; unknown ones are slow", () => {
  const latencies = createLatencies();
  const took = (milliseconds: number, times = 1) => {
    for (let index = 0; index < times; index++) {
      jest.advanceTimersByTime(100);
      latencies.took("a", milliseconds);
    }
    return latencies.speedOf("a");
  };
  expect(latencies.speedOf("a")).toBe("slow");
  expect(took(20)).toBe("answering");
  jest.advanceTimersByTime(5_000);
  expect(latencies.speedOf("a")).toBe("quick");
  expect(took(1_200, 3)).toBe("answering");
  expect(took(14_000, 5)).toBe("slow");
  expect(took(20)).toBe("answering");
});

test("attempts that end at the same moment make no endpoint slow, since this process may have been busy", () => {
  const latencies = createLatencies();
  latencies.took("a", 20);
  jest.advanceTimersByTime(1_500);
  for (let index = 0; index < 10; index++) latencies.took("a", 1_500);
  expect(latencies.speedOf("a")).toBe("answering");
});

test("only so many endpoints' latencies are kept: the one that was attempted longest ago is forgotten", () => {
  const latencies = createLatencies();
  for (let index = 0; index <= 20_000; index++) latencies.took(`e${index}`, 1);
  expect([latencies.speedOf("e0"), latencies.speedOf("e1")]).toEqual(["slow", "answering"]);
});

test("while another organization waits, none has more than half of the bytes; alone it may have all, and one body always fits", () => {
  const bytes = createByteBudget(100);
  expect([bytes.take("a", 40, false), bytes.take("a", 40, false), bytes.take("a", 40, false)]).toEqual([
    true,
    true,
    false,
  ]);
  bytes.release("a", 40);
  expect([bytes.take("a", 20, true), bytes.take("b", 60, true), bytes.take("b", 40, true)]).toEqual([
    false,
    true,
    false,
  ]);
  bytes.release("a", 40);
  bytes.release("b", 60);
  expect([bytes.take("a", 1_000, true), bytes.taken()]).toEqual([true, 1_000]);
  expect(() => bytes.release("b", 1)).toThrow("More bytes are released than were taken.");
});
