import { expect, test } from "@jest/globals";
import { createKeyedLimiter } from "./keyed-limiter.ts";

/** A task that ends when the test calls `end`. */
function task() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, ended };
}
const nextTick = () => new Promise((resolve) => setImmediate(resolve));

test("a limiter runs the tasks of a key in the order of the calls, at most `concurrency` of them at once", async () => {
  const limiter = createKeyedLimiter({ concurrency: 2, maxWaitMs: 10_000, retryAfterS: 5 });
  const started: string[] = [];
  const tasks = new Map(["a1", "a2", "a3", "a4", "b1"].map((name) => [name, task()]));
  const running = [...tasks].map(([name, { ended }]) =>
    limiter.run(name[0] ?? "", async () => {
      started.push(name);
      await ended;
      return name;
    }),
  );
  await nextTick();
  expect(started).toEqual(["a1", "a2", "b1"]);
  tasks.get("a2")?.end();
  await nextTick();
  expect(started).toEqual(["a1", "a2", "b1", "a3"]);
  for (const { end } of tasks.values()) end();
  expect(await Promise.all(running)).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

test("a task that fails releases its place in the limiter", async () => {
  const limiter = createKeyedLimiter({ concurrency: 1, maxWaitMs: 10_000, retryAfterS: 5 });
  const failing = limiter.run("a", async () => {
    throw new Error("no");
  });
  const next = limiter.run("a", async () => "done");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("done");
});

test("a task that waits too long for the limiter is refused and never started, and later tasks run", async () => {
  const limiter = createKeyedLimiter({ concurrency: 1, maxWaitMs: 20, retryAfterS: 5 });
  const { end, ended } = task();
  const first = limiter.run("a", () => ended);
  let started = false;
  const late = limiter.run("a", async () => {
    started = true;
  });
  await expect(late).rejects.toMatchObject({ code: "too_many_requests", facts: { headers: { "Retry-After": "5" } } });
  end();
  await first;
  expect(await limiter.run("a", async () => "next")).toBe("next");
  expect(started).toBe(false);
});
