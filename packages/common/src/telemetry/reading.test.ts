import { expect, jest, test } from "@jest/globals";
import { reading } from "./reading.ts";

/** By how much the monotonic clock is ahead. */
let aheadMs = 0;
const { now } = performance;
jest.spyOn(performance, "now").mockImplementation(() => now.call(performance) + aheadMs);

/** A reading whose end a test decides. */
function steered() {
  const ends: PromiseWithResolvers<number>[] = [];
  const failures: unknown[] = [];
  const figures = reading(
    5_000,
    () => {
      const end = Promise.withResolvers<number>();
      ends.push(end);
      return end.promise;
    },
    { lateMs: 20, onFailure: (error) => failures.push(error) },
  );
  return { figures, ends, failures };
}

test("a reading without an end keeps nobody waiting, and no other one begins beside it", async () => {
  const { figures, ends } = steered();
  for (let scrape = 0; scrape < 3; scrape++) {
    expect(await figures()).toBeUndefined();
    aheadMs += 10_000;
  }
  expect(ends).toHaveLength(1);
});

test("a late reading is shown at the next scrape, and for a minute in the place of a later one", async () => {
  const { figures, ends } = steered();
  expect(await figures()).toBeUndefined();
  ends[0]?.resolve(1);
  expect(await figures()).toBe(1);
  aheadMs += 30_000;
  expect(await figures()).toBe(1);
  expect(ends).toHaveLength(2);
  aheadMs += 31_000;
  expect(await figures()).toBeUndefined();
  ends[1]?.resolve(2);
  expect(await figures()).toBe(2);
});

test("a reading that fails shows nothing, and the next scrape begins another one", async () => {
  const { figures, ends, failures } = steered();
  const first = figures();
  ends[0]?.resolve(1);
  expect(await first).toBe(1);
  aheadMs += 10_000;
  const second = figures();
  ends[1]?.reject("away");
  expect(await second).toBeUndefined();
  expect(failures).toEqual(["away"]);
  aheadMs += 10_000;
  const third = figures();
  ends[2]?.resolve(3);
  expect(await third).toBe(3);
});
