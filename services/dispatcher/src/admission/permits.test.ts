import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createByteBudget } from "./byte-budget.ts";
import { createLatencies } from "./latencies.ts";
import { createPermits, type Permit } from "./permits.ts";

test("endpoints that are slow, or not known to be quick, have half of the permits together", () => {
  const permits = createPermits(10);
  const taken: Permit[] = [];
  while (permits.mayTake(false)) taken.push(permits.take(false));
  expect(taken).toHaveLength(5);
  while (permits.mayTake(true)) taken.push(permits.take(true));
  expect(taken).toHaveLength(10);
});

test("an attempt that takes long counts with the slow ones, until it is over, and takes room until it is settled", () => {
  const permits = createPermits(4);
  const quick = permits.take(true);
  permits.take(false);
  expect(permits.mayTake(false)).toBe(true);
  quick.slow();
  expect([permits.mayTake(false), permits.mayTake(true)]).toEqual([false, true]);
  quick.ended();
  expect(permits.mayTake(false)).toBe(true);
  permits.take(true);
  permits.take(true);
  expect(permits.mayTake(true)).toBe(false);
  quick.settled();
  expect(permits.mayTake(true)).toBe(true);
});

test("however the steps of permits come, all are free again in the end", () => {
  const steps = fc.array(fc.tuple(fc.nat(9), fc.constantFrom("slow", "ended", "settled")), { maxLength: 100 });
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), steps, (quick, steps) => {
      const permits = createPermits(10);
      const taken = quick.map((isQuick) => permits.take(isQuick));
      for (const [index, step] of steps) (taken[index] as Permit)[step as keyof Permit]();
      for (const permit of taken) permit.settled();
      let slow = 0;
      while (permits.mayTake(false)) slow += Number(permits.take(false) !== undefined);
      let all = slow;
      while (permits.mayTake(true)) all += Number(permits.take(true) !== undefined);
      expect([slow, all]).toEqual([5, 10]);
    }),
  );
});

test("an endpoint is quick by the mean of its attempts, and unknown ones are not", () => {
  const latencies = createLatencies();
  expect(latencies.isQuick("a")).toBe(false);
  latencies.took("a", 20);
  expect(latencies.isQuick("a")).toBe(true);
  for (let index = 0; index < 3; index++) latencies.took("a", 1_200);
  expect(latencies.isQuick("a")).toBe(true);
  for (let index = 0; index < 5; index++) latencies.took("a", 14_000);
  expect(latencies.isQuick("a")).toBe(false);
  latencies.took("a", 20);
  expect(latencies.isQuick("a")).toBe(true);
});

test("only so many endpoints' latencies are kept: the one that was attempted longest ago is forgotten", () => {
  const latencies = createLatencies();
  for (let index = 0; index <= 20_000; index++) latencies.took(`e${index}`, 1);
  expect([latencies.isQuick("e0"), latencies.isQuick("e1")]).toEqual([false, true]);
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
