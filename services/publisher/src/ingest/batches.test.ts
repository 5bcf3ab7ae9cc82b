import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { batchesByTurns } from "./batches.ts";

interface Item {
  group: string;
  bytes: number;
}

const item = (group: string, bytes = 1): Item => ({ group, bytes });
const items = (count: number, group: string) => Array.from({ length: count }, () => item(group));
const turn = () => new Promise((resolve) => setImmediate(resolve));
const turns = async () => {
  for (let each = 0; each < 3; each++) await turn();
};

/** Batches that run until they are ended. */
function recording(
  limits: { maxItems?: number; maxOfGroup?: number; maxBytes?: number; maxRunning?: number; maxApart?: number } = {},
) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  let nowMs = 0;
  const batches = batchesByTurns<Item>(
    (batch) => {
      begun.push(batch.map(({ group }) => group).join(""));
      return new Promise((resolve) => ends.push(resolve));
    },
    {
      maxItems: 100,
      maxBytes: 1_000,
      maxRunning: 1,
      ...limits,
      bytesOf: ({ bytes }) => bytes,
      groupOf: ({ group }) => group,
      clock: { monotonicMs: () => nowMs },
    },
  );
  const pass = (milliseconds: number) => {
    nowMs += milliseconds;
  };
  return { batches, begun, pass, end: () => ends.shift()?.() };
}

afterEach(() => {
  jest.useRealTimers();
});

describe("batches", () => {
  test("a batch has items of each group, however many one group has", async () => {
    const { batches, begun, end } = recording({ maxItems: 5 });
    for (const each of [...items(9, "a"), ...items(1, "b"), ...items(2, "c")]) batches.add(each);
    await turn();
    end();
    await turn();
    await turn();
    expect(begun).toEqual(["abcac", "aaaaa"]);
  });

  test("while items of others come, a group has a part of a batch, and then rests for twice the batch's time", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] });
    const { batches, begun, end, pass } = recording({ maxItems: 6, maxOfGroup: 2 });
    for (const each of items(12, "a")) batches.add(each);
    await turns();
    // No other group has items, so this one has the whole batch.
    expect(begun).toEqual(["aaaaaa"]);
    batches.add(item("b"));
    end();
    await turns();
    expect(begun.slice(1)).toEqual(["aba"]);
    pass(300);
    end();
    batches.add(item("b"));
    await turns();
    expect(begun.slice(2)).toEqual(["b"]);
    end();
    await jest.advanceTimersByTimeAsync(599);
    await turns();
    expect(begun).toHaveLength(3);
    await jest.advanceTimersByTimeAsync(1);
    await turns();
    expect(begun.slice(3)).toEqual(["aa"]);
  });

  test("a group that is alone does not rest, nor one whose batch waited for long", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] });
    const { batches, begun, end, pass } = recording({ maxItems: 6, maxOfGroup: 2 });
    batches.add(item("b"));
    for (const each of items(3, "a")) batches.add(each);
    await turns();
    expect(begun).toEqual(["baa"]);
    pass(600_000);
    end();
    await turns();
    expect(begun).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(1_000);
    await turns();
    expect(begun.slice(1)).toEqual(["a"]);
    for (const each of items(7, "a")) batches.add(each);
    end();
    await turns();
    pass(1);
    end();
    await turns();
    expect(begun.slice(2)).toEqual(["aaaaaa", "a"]);
  });

  test("a batch goes on with the group whose turn it is", async () => {
    const { batches, begun, end } = recording({ maxItems: 1 });
    for (const each of [...items(2, "a"), ...items(2, "b")]) batches.add(each);
    for (let batch = 0; batch < 4; batch++) {
      await turn();
      await turn();
      end();
    }
    expect(begun).toEqual(["a", "b", "a", "b"]);
  });

  test("no batch of several items has more bytes than it may, and a larger item has a batch of its own", async () => {
    const { batches, begun } = recording({ maxBytes: 10, maxRunning: 9 });
    for (const each of [item("a", 6), item("b", 4), item("c", 11), item("d", 1)]) batches.add(each);
    for (let batch = 0; batch < 4; batch++) await turn();
    expect(begun).toEqual(["ab", "c", "d"]);
  });

  test("items gather while as many batches run as may run at once", async () => {
    const { batches, begun, end } = recording({ maxRunning: 2 });
    for (const group of ["a", "b", "c", "d"]) {
      batches.add(item(group));
      await turn();
    }
    expect(begun).toEqual(["a", "b"]);
    end();
    await turn();
    await turn();
    expect(begun).toEqual(["a", "b", "cd"]);
  });

  test("a group of which nothing runs waits neither for the batches of others, nor in one with them", async () => {
    const { batches, begun, end } = recording({ maxItems: 3, maxRunning: 2, maxApart: 1 });
    for (const each of items(20, "a")) batches.add(each);
    for (let each = 0; each < 3; each++) await turn();
    expect(begun).toEqual(["aaa", "aaa"]);
    batches.add(item("b"));
    await turn();
    expect(begun).toEqual(["aaa", "aaa", "b"]);
    // No place is left, not even apart.
    batches.add(item("c"));
    await turn();
    expect(begun).toHaveLength(3);
    end();
    await turn();
    await turn();
    expect(begun.slice(3)).toEqual(["c"]);
  });

  test("what is dropped does not run, and what runs is waited for", async () => {
    const { batches, begun, end } = recording();
    batches.add(item("a"));
    await turn();
    batches.add(item("b"));
    expect(batches.drop()).toEqual([item("b")]);
    let isIdle = false;
    const idle = batches.idle().then(() => {
      isIdle = true;
    });
    await turn();
    expect(isIdle).toBe(false);
    end();
    await idle;
    expect(begun).toEqual(["a"]);
  });
});
