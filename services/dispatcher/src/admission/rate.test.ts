import { steeredClock } from "@herald/dev/harness/steered-clock";
import { expect, test } from "@jest/globals";
import { createRate } from "./rate.ts";

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

test("an attempt that cannot wait takes its token all the same, and the others wait for one more", () => {
  const rate = createRate(clock, 1);
  rate.take();
  rate.take();
  expect(rate.waitMs()).toBe(2_000);
  clock.advance(2_000);
  expect(burst(rate)).toBe(1);
});
