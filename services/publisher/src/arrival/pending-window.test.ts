import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { createPendingWindow } from "./pending-window.ts";

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

function pendingEvents({ most = 100 } = {}) {
  const gone: [number, number][] = [];
  const options = { most, storedAfterMs: { least: 100, most: 150 }, togetherMs: 90 };
  const pending = createPendingWindow<number>((item) => gone.push([item, performance.now()]), options);
  return { pending, gone };
}

test("the oldest event goes on with all that have waited long enough, and the others wait for their own time", () => {
  const { pending, gone } = pendingEvents();
  pending.add(1);
  jest.advanceTimersByTime(60);
  pending.add(2);
  jest.advanceTimersByTime(60);
  pending.add(3);
  jest.advanceTimersByTime(1_000);
  expect(gone).toEqual([
    [1, 190],
    [2, 190],
    [3, 310],
  ]);
});

test("dropped events do not go on", () => {
  const { pending, gone } = pendingEvents();
  pending.add(1);
  expect(pending.drop()).toEqual([1]);
  jest.advanceTimersByTime(1_000);
  pending.add(2);
  jest.advanceTimersByTime(1_000);
  expect(gone.map(([item]) => item)).toEqual([2]);
});

test("there is room again when an event on its way is over, stored or dropped", async () => {
  const { pending } = pendingEvents({ most: 2 });
  let rooms = 0;
  const ask = () => void pending.room().then(() => rooms++);
  for (const item of [1, 2, 3]) pending.add(item);
  ask();
  ask();
  pending.over(1);
  await Promise.resolve();
  expect(rooms).toBe(0);
  pending.over(3);
  await Promise.resolve();
  await Promise.resolve();
  expect(rooms).toBe(2);
  expect([1, 2, 3].map(pending.has)).toEqual([false, true, false]);
});

/** How long the first of some events waits. */
function waitOf({ pending, gone }: ReturnType<typeof pendingEvents>, items: readonly number[]): number {
  const sinceMs = performance.now();
  gone.length = 0;
  for (const item of items) pending.add(item);
  jest.advanceTimersByTime(1_000);
  return (gone[0] as [number, number])[1] - sinceMs;
}

test("a window that fills, with events that have no result in time, waits longer, within bounds, and gradually shorter again", () => {
  const world = pendingEvents({ most: 1 });
  const { pending } = world;
  const fills = [1];
  expect(waitOf(world, fills)).toBe(130);
  pending.stored({ count: 100, late: 2 });
  expect(waitOf(world, fills)).toBe(130);
  pending.stored({ count: 100, late: 3 });
  expect(Math.round(waitOf(world, fills))).toBe(140);
  for (let more = 0; more < 100; more++) pending.stored({ count: 100, late: 100 });
  expect(waitOf(world, fills)).toBe(180);
  for (let more = 0; more < 1_000; more++) pending.stored({ count: 100, late: 0 });
  expect(waitOf(world, fills)).toBe(130);
});

test("few events on their way do not wait longer if some have no result in time: a receiver is slow", () => {
  const world = pendingEvents({ most: 4 });
  expect(waitOf(world, [1])).toBe(190);
  for (let more = 0; more < 100; more++) world.pending.stored({ count: 1, late: 1 });
  expect(waitOf(world, [1])).toBe(190);
});
