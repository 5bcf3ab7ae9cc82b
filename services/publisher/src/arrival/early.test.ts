import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { createEarly } from "./early.ts";

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

function earlyEvents({ most = 100 } = {}) {
  const gone: [number, number][] = [];
  const options = { most, storedAfterMs: { least: 100, most: 150 }, togetherMs: 90 };
  const early = createEarly<number>((item) => gone.push([item, performance.now()]), options);
  return { early, gone };
}

test("the oldest event goes on with all that have waited long enough, and the others wait for their own time", () => {
  const { early, gone } = earlyEvents();
  early.add(1);
  jest.advanceTimersByTime(60);
  early.add(2);
  jest.advanceTimersByTime(60);
  early.add(3);
  jest.advanceTimersByTime(1_000);
  expect(gone).toEqual([
    [1, 190],
    [2, 190],
    [3, 310],
  ]);
});

test("dropped events do not go on", () => {
  const { early, gone } = earlyEvents();
  early.add(1);
  expect(early.drop()).toEqual([1]);
  jest.advanceTimersByTime(1_000);
  early.add(2);
  jest.advanceTimersByTime(1_000);
  expect(gone.map(([item]) => item)).toEqual([2]);
});

test("there is room again when an event on its way is over, stored or dropped", async () => {
  const { early } = earlyEvents({ most: 2 });
  let rooms = 0;
  const ask = () => void early.room().then(() => rooms++);
  for (const item of [1, 2, 3]) early.add(item);
  ask();
  ask();
  early.over(1);
  await Promise.resolve();
  expect(rooms).toBe(0);
  early.over(3);
  await Promise.resolve();
  await Promise.resolve();
  expect(rooms).toBe(2);
  expect([1, 2, 3].map(early.has)).toEqual([false, true, false]);
});

/** How long the first of some events waits. */
function waitOf({ early, gone }: ReturnType<typeof earlyEvents>, items: readonly number[]): number {
  const sinceMs = performance.now();
  gone.length = 0;
  for (const item of items) early.add(item);
  jest.advanceTimersByTime(1_000);
  return (gone[0] as [number, number])[1] - sinceMs;
}

test("a crowd with events that have no result in time waits longer, within bounds, and gradually shorter again", () => {
  const world = earlyEvents({ most: 1 });
  const { early } = world;
  const crowd = [1];
  expect(waitOf(world, crowd)).toBe(130);
  early.stored({ count: 100, late: 2 });
  expect(waitOf(world, crowd)).toBe(130);
  early.stored({ count: 100, late: 3 });
  expect(Math.round(waitOf(world, crowd))).toBe(140);
  for (let more = 0; more < 100; more++) early.stored({ count: 100, late: 100 });
  expect(waitOf(world, crowd)).toBe(180);
  for (let more = 0; more < 1_000; more++) early.stored({ count: 100, late: 0 });
  expect(waitOf(world, crowd)).toBe(130);
});

test("few events on their way do not wait longer if some have no result in time: a receiver is slow", () => {
  const world = earlyEvents({ most: 4 });
  expect(waitOf(world, [1])).toBe(190);
  for (let more = 0; more < 100; more++) world.early.stored({ count: 1, late: 1 });
  expect(waitOf(world, [1])).toBe(190);
});
