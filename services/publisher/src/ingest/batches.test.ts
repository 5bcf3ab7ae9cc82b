import { describe, expect, test } from "@jest/globals";
import { batchesByTurns } from "./batches.ts";

interface Item {
  group: string;
  bytes: number;
}

const item = (group: string, bytes = 1): Item => ({ group, bytes });
const items = (count: number, group: string) => Array.from({ length: count }, () => item(group));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Batches that run until they are ended. */
function recording(limits: { maxItems?: number; maxBytes?: number; maxRunning?: number; maxApart?: number } = {}) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
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
    },
  );
  return { batches, begun, end: () => ends.shift()?.() };
}

describe("batches", () => {
  test("have something of each group, however many one group has", async () => {
    const { batches, begun, end } = recording({ maxItems: 5 });
    for (const each of [...items(9, "a"), ...items(1, "b"), ...items(2, "c")]) batches.add(each);
    await turn();
    end();
    await turn();
    await turn();
    expect(begun).toEqual(["abcac", "aaaaa"]);
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

  test("gather while as many run as may run at once", async () => {
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
