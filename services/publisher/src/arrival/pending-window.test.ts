import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { createPendingWindow } from "./pending-window.ts";

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

function pendingEvents({ most = 100 } = {}) {
  const gone: [number, number][] = [];
  const options = { most, storedAfterMs: 100, togetherMs: 90 };
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
});
