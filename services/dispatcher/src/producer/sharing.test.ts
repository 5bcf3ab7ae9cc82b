import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { createRate } from "../endpoint/gate.ts";
import { createLatencies, createPermits, type Permit, type Permits, SPEEDS, type Speed } from "./permits.ts";
import { createByteBudget, createTurns } from "./turns.ts";

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

test("the result of an attempt that waits for a locked row gives its room to another attempt, as often as there are permits", () => {
  const permits = createPermits(4);
  const first = takeAll(permits, "answering");
  for (const permit of first) permit.locked();
  const more = takeAll(permits, "answering");
  for (const permit of more) permit.locked();
  expect([first.length, more.length, permits.mayTake("answering")]).toEqual([4, 4, false]);
  first[0]?.settled();
  expect(permits.mayTake("answering")).toBe(false);
  more[0]?.settled();
  expect(permits.mayTake("answering")).toBe(true);
});

test("all permits are free again in the end, in whatever order their steps come", () => {
  const steps = fc.array(fc.tuple(fc.nat(9), fc.constantFrom("slow", "ended", "locked", "settled")), {
    maxLength: 100,
  });
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

test("a bounded number of latencies is kept: the endpoint with the oldest attempt is forgotten", () => {
  const latencies = createLatencies();
  for (let index = 0; index <= 20_000; index++) latencies.took(`e${index}`, 1);
  expect([latencies.speedOf("e0"), latencies.speedOf("e1")]).toEqual(["slow", "answering"]);
});

test("while another organization waits, none has more than half of the bytes; alone it may have all, and one body always fits", () => {
  const bytes = createByteBudget(100);
  const [a, a2, b] = ["a", "a", "b"].map((organizationId, index) => ({ id: String(index), organizationId }));
  if (!a || !a2 || !b) throw new Error("there are three");
  expect([bytes.take(a, 40), bytes.take(a2, 40), bytes.take(a, 40)]).toEqual([true, true, false]);
  expect(bytes.release(a, 40)).toEqual([a]);
  expect([bytes.take(b, 61), bytes.take(a, 20), bytes.take(b, 60)]).toEqual([false, false, true]);
  expect(bytes.release(a2, 40)).toEqual([b, a]);
  bytes.release(b, 60);
  expect([bytes.take(a, 1_000), bytes.take(b, 1)]).toEqual([true, false]);
  bytes.leave(b);
  expect(bytes.release(a, 1_000)).toEqual([]);
  expect(() => bytes.release(b, 1)).toThrow("More is taken away than was added.");
});

const clock = steeredClock();

/** How many attempts may begin now. */
function burst(rate: ReturnType<typeof createRate>): number {
  let count = 0;
  for (; rate.waitMs() === 0; count++) rate.take();
  return count;
}

test("an endpoint that was quiet gets the attempts of a second at once, and then as many a second", () => {
  const rate = createRate(clock, 5);
  expect(burst(rate)).toBe(5);
  clock.advance(400);
  expect(burst(rate)).toBe(2);
  let begun = 0;
  for (let second = 0; second < 10; second++) {
    clock.advance(1_000);
    begun += burst(rate);
  }
  expect(begun).toBe(50);
});

test("with less than one attempt a second, there is one every so often", () => {
  const rate = createRate(clock, 0.1);
  expect(burst(rate)).toBe(1);
  clock.advance(9_990);
  expect(rate.waitMs()).toBe(10);
  clock.advance(10);
  expect(burst(rate)).toBe(1);
});

test("an attempt that cannot wait takes a token without waiting, and the others wait for one more", () => {
  const rate = createRate(clock, 1);
  rate.take();
  rate.take();
  expect(rate.waitMs()).toBe(2_000);
  clock.advance(2_000);
  expect(burst(rate)).toBe(1);
});

const taker = (organizationId: string, id: string) => ({ id: `${organizationId}-${id}`, organizationId });

test("an endpoint that waits already keeps its place, and a removed one has no turn", () => {
  const turns = createTurns();
  turns.add(taker("a", "1"));
  turns.add(taker("a", "2"));
  turns.add(taker("a", "1"));
  turns.remove(taker("a", "2"));
  turns.remove(taker("b", "1"));
  expect([turns.next()?.id, turns.next()]).toEqual(["a-1", undefined]);
});

test("no endpoint waits for more turns than there are organizations, times the endpoints of its own", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(5)), { minLength: 1, maxLength: 40 }), (pairs) => {
      const turns = createTurns();
      const all = new Map(pairs.map(([o, e]) => [`o${o}-${e}`, taker(`o${o}`, `${e}`)]));
      for (const each of all.values()) turns.add(each);
      const organizations = new Set([...all.values()].map(({ organizationId }) => organizationId));
      const endpointsOf = (id: string) =>
        [...all.values()].filter(({ organizationId }) => organizationId === id).length;
      const waited = new Map([...all.keys()].map((id) => [id, 0]));
      for (let turn = 0; turn < 200; turn++) {
        const next = turns.next();
        for (const [id, { organizationId }] of all) {
          waited.set(id, id === next?.id ? 0 : (waited.get(id) ?? 0) + 1);
          expect(waited.get(id)).toBeLessThan(organizations.size * endpointsOf(organizationId));
        }
        if (next) turns.add(next);
      }
    }),
  );
});
