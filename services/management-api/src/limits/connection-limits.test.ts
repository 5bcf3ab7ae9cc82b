import { expect, test } from "@jest/globals";
import { ProblemError } from "../problems/problem-error.ts";
import { createKeyedLimiter, type KeyedLimiter } from "./connection-limits.ts";

const refusal = () => new ProblemError("too_many_requests");
const nextTick = () => new Promise((resolve) => setImmediate(resolve));

/** Begins a task of each name at once; its first letter is its key. */
function begin(limiter: KeyedLimiter, names: readonly string[]) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const running = names.map((name) => {
    const ended = new Promise<void>((resolve) => ends.set(name, resolve));
    return limiter.run(name[0] ?? "", async () => {
      started.push(name);
      await ended;
      return name;
    });
  });
  return {
    started,
    async end(...ended: string[]) {
      for (const name of ended) ends.get(name)?.();
      await nextTick();
    },
    all: () => Promise.all(running),
  };
}

test("a limiter runs the tasks of a key in the order of the calls, at most `perKey` of them at once", async () => {
  const limiter = createKeyedLimiter({ perKey: 2, maxWaitMs: 100_000, refusal });
  const { started, end, all } = begin(limiter, ["a1", "a2", "a3", "a4", "b1"]);
  await nextTick();
  expect(started).toEqual(["a1", "a2", "b1"]);
  await end("a2");
  expect(started).toEqual(["a1", "a2", "b1", "a3"]);
  await end("a1", "a3", "a4", "b1");
  expect(await all()).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

test("a limiter runs at most `together` tasks of all keys, and the next is of the key with the fewest running", async () => {
  const limiter = createKeyedLimiter({ together: 3, maxWaitMs: 100_000, refusal });
  const { started, end, all } = begin(limiter, ["a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1"]);
  await nextTick();
  expect(started).toEqual(["a1", "a2", "a3"]);
  await end("a1");
  expect(started.slice(3)).toEqual(["b1"]);
  await end("a2");
  expect(started.slice(4)).toEqual(["c1"]);
  // Each key has one running now, so the task that came first is next.
  await end("c1");
  expect(started.slice(5)).toEqual(["a4"]);
  await end("b1");
  expect(started.slice(6)).toEqual(["b2"]);
  await end("a3", "a4", "b2", "a5");
  expect(await all()).toHaveLength(8);
});

test("a task that fails releases its place in the limiter", async () => {
  const limiter = createKeyedLimiter({ perKey: 1, together: 1, maxWaitMs: 100_000, refusal });
  const failing = limiter.run("a", async () => {
    throw new Error("no");
  });
  const [same, other] = [limiter.run("a", async () => "done"), limiter.run("b", async () => "done too")];
  await expect(failing).rejects.toThrow("no");
  expect(await Promise.all([same, other])).toEqual(["done", "done too"]);
});

test("a task that waits too long for the limiter is refused and never started, and later tasks run", async () => {
  const limiter = createKeyedLimiter({ perKey: 1, together: 1, maxWaitMs: 20, refusal });
  const { end, all, started } = begin(limiter, ["a1"]);
  const late = ["a", "b"].map((key) => limiter.run(key, async () => started.push("late")));
  for (const each of late) await expect(each).rejects.toMatchObject({ code: "too_many_requests" });
  await end("a1");
  await all();
  expect(await limiter.run("b", async () => "next")).toBe("next");
  expect(started).toEqual(["a1"]);
});
