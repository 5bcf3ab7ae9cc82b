import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { createGather } from "./gather.ts";

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

function gathering() {
  const gone: [number, number][] = [];
  const gather = createGather<number>((item) => gone.push([item, performance.now()]), {
    leastMs: 100,
    mostMs: 200,
  });
  return { gather, gone };
}

test("the oldest takes along all that have waited long enough, and the others wait for their own time", () => {
  const { gather, gone } = gathering();
  gather.add(1);
  jest.advanceTimersByTime(60);
  gather.add(2);
  jest.advanceTimersByTime(60);
  gather.add(3);
  jest.advanceTimersByTime(1_000);
  expect(gone).toEqual([
    [1, 200],
    [2, 200],
    [3, 320],
  ]);
});

test("what is dropped goes on no more", () => {
  const { gather, gone } = gathering();
  gather.add(1);
  expect(gather.drop()).toEqual([1]);
  jest.advanceTimersByTime(1_000);
  gather.add(2);
  jest.advanceTimersByTime(1_000);
  expect(gone.map(([item]) => item)).toEqual([2]);
});
