import { expect, test } from "@jest/globals";
import { batcher } from "./batcher.ts";
import { atMostEach } from "./repeat.ts";

function gate(): { opened: Promise<void>; open: () => void } {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  return { opened, open };
}

test("calls of one turn share a batch, and each gets its own result", async () => {
  const batches: number[][] = [];
  const double = batcher(
    async (items: number[]) => {
      batches.push(items);
      return items.map((item) => item * 2);
    },
    { maxItems: 10, maxRunning: 1 },
  );
  expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6]);
  expect(batches).toEqual([[1, 2, 3]]);
});

test("calls gather while a batch runs, up to maxItems", async () => {
  const batches: number[][] = [];
  const first = gate();
  const call = batcher(
    async (items: number[]) => {
      batches.push(items);
      if (batches.length === 1) await first.opened;
      return items;
    },
    { maxItems: 2, maxRunning: 1 },
  );
  const one = call(1);
  await new Promise((resolve) => setImmediate(resolve));
  const rest = [2, 3, 4].map(call);
  first.open();
  expect(await Promise.all([one, ...rest])).toEqual([1, 2, 3, 4]);
  expect(batches).toEqual([[1], [2, 3], [4]]);
});

test("calls without a waiting caller gather, until they are enough, the first has waited long enough, or a caller waits for one", async () => {
  const batches: number[][] = [];
  const gathering = (gather: { items: number; forMs: number; isAwaited?: (item: number) => boolean }) =>
    batcher(
      async (items: number[]) => {
        batches.push(items);
        return items;
      },
      { maxItems: 10, maxRunning: 1, gather },
    );
  const patient = gathering({ items: 3, forMs: 3_600_000 });
  const calls = [patient(1), patient(2)];
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches).toEqual([]);
  await Promise.all([...calls, patient(3)]);
  const quick = gathering({ items: 3, forMs: 1 });
  await quick(4);
  await quick(5);
  expect(batches).toEqual([[1, 2, 3], [4], [5]]);
  const waiting = gathering({ items: 3, forMs: 3_600_000, isAwaited: (item) => item === 7 });
  await Promise.all([waiting(6), waiting(7)]);
  expect(batches.at(-1)).toEqual([6, 7]);
});

test("a batcher never runs more than maxRunning batches at once", async () => {
  let running = 0;
  let most = 0;
  const call = batcher(
    async (items: number[]) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running--;
      return items;
    },
    { maxItems: 1, maxRunning: 2 },
  );
  await Promise.all(Array.from({ length: 20 }, (_, index) => call(index)));
  expect(most).toBe(2);
});

test("a failed batch fails its own calls and no others", async () => {
  const call = batcher(
    async (items: string[]) => {
      if (items.includes("bad")) throw new Error("no");
      return items;
    },
    { maxItems: 1, maxRunning: 1 },
  );
  const results = await Promise.allSettled(["good", "bad", "fine"].map(call));
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

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
