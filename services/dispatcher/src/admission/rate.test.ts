import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { createRate, type Rate } from "./rate.ts";

let clock: ReturnType<typeof steeredClock>;
let ready: string[];
let rate: Rate | undefined;
beforeEach(() => {
  jest.useFakeTimers();
  clock = steeredClock();
  ready = [];
});
afterEach(() => {
  rate?.stop();
  jest.useRealTimers();
});

function started(tokensPerSecond: number | ((endpointId: string) => number)): Rate {
  const rateOf = typeof tokensPerSecond === "number" ? () => tokensPerSecond : tokensPerSecond;
  rate = createRate({ rateOf, clock, onReady: (endpointId) => ready.push(endpointId) });
  return rate;
}

function pass(ms: number): void {
  for (let step = 0; step < ms; step++) {
    clock.advance(1);
    jest.advanceTimersByTime(1);
  }
}

describe("a rate of attempts", () => {
  test("an endpoint that was quiet gets the attempts of a second at once, and then as many a second", () => {
    const { takeUpTo } = started(5);
    expect([takeUpTo("a", 3), takeUpTo("a", 10), takeUpTo("a", 10)]).toEqual([3, 2, 0]);
    pass(400);
    expect([takeUpTo("a", 10), takeUpTo("b", 10)]).toEqual([2, 5]);
    let begun = 0;
    for (let second = 0; second < 10; second++) {
      pass(1_000);
      begun += takeUpTo("a", 100);
    }
    expect(begun).toBe(50);
  });

  test("with less than one attempt a second, there is one every so often", () => {
    const { takeUpTo } = started(0.1);
    expect(takeUpTo("a", 10)).toBe(1);
    pass(9_990);
    expect(takeUpTo("a", 10)).toBe(0);
    pass(10);
    expect(takeUpTo("a", 10)).toBe(1);
  });

  test("an endpoint that was refused is handed over when its next token comes, once", () => {
    const { takeUpTo, hasToken } = started(2);
    takeUpTo("a", 2);
    takeUpTo("b", 2);
    expect([takeUpTo("a", 1), hasToken("a"), hasToken("c")]).toEqual([0, false, true]);
    pass(100);
    expect(hasToken("b")).toBe(false);
    pass(390);
    expect(ready).toEqual([]);
    pass(20);
    expect(ready.sort()).toEqual(["a", "b"]);
    pass(5_000);
    expect(ready).toHaveLength(2);
  });

  test("tokens of attempts that were not made are there again", () => {
    const { takeUpTo, giveBack } = started(4);
    takeUpTo("a", 4);
    giveBack("a", 3);
    expect(takeUpTo("a", 4)).toBe(3);
  });

  test("an attempt that cannot wait takes its token all the same, and the others wait for one more", () => {
    const { takeUpTo, takeBeyond } = started(1);
    takeBeyond("a");
    takeBeyond("a");
    pass(1_000);
    expect(takeUpTo("a", 1)).toBe(0);
    pass(1_000);
    expect(takeUpTo("a", 1)).toBe(1);
  });

  test("an endpoint without a share in this process gets nothing, and no timer waits for it", () => {
    const { takeUpTo } = started((endpointId) => (endpointId === "a" ? 0 : 1));
    expect([takeUpTo("a", 1), takeUpTo("b", 1)]).toEqual([0, 1]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
