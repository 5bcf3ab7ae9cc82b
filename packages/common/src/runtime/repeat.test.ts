import { expect, test } from "@jest/globals";
import { atMostEach } from "./repeat.ts";

function counted(periodMs: number) {
  let checks = 0;
  const check = atMostEach(periodMs, async () => {
    checks++;
    return checks > 1;
  });
  return { check, checks: () => checks };
}

test("all who ask within a period get the answer of one check", async () => {
  const { check, checks } = counted(3_600_000);
  expect(await Promise.all([check(), check()])).toEqual([false, false]);
  expect(await check()).toBe(false);
  expect(checks()).toBe(1);
});

test("when the period is over, the next one to ask has it checked again", async () => {
  const { check } = counted(0);
  expect(await check()).toBe(false);
  expect(await check()).toBe(true);
});

test("while it is checked, whoever asks waits for that check, however long the period is over", async () => {
  let checks = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = atMostEach(0, () => {
    checks++;
    return promise;
  });
  const asked = [check(), check(), check()];
  expect(checks).toBe(1);
  resolve();
  await Promise.all(asked);
  await check();
  expect(checks).toBe(2);
});
