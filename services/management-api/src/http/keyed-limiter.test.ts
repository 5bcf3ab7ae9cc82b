import { expect, test } from "@jest/globals";
import { createTurns } from "./keyed-limiter.ts";

/** A task that ends when it's told to. */
function task() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, ended };
}
const soon = () => new Promise((resolve) => setImmediate(resolve));

test("as many as may run at once, in the order of the calls, each key by itself", async () => {
  const turns = createTurns({ atOnce: 2, longestWaitMs: 10_000 });
  const begun: string[] = [];
  const tasks = new Map(["a1", "a2", "a3", "a4", "b1"].map((name) => [name, task()]));
  const running = [...tasks].map(([name, { ended }]) =>
    turns.take(name[0] ?? "", async () => {
      begun.push(name);
      await ended;
      return name;
    }),
  );
  await soon();
  expect(begun).toEqual(["a1", "a2", "b1"]);
  tasks.get("a2")?.end();
  await soon();
  expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
  for (const { end } of tasks.values()) end();
  expect(await Promise.all(running)).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

test("a task that fails passes its turn on", async () => {
  const turns = createTurns({ atOnce: 1, longestWaitMs: 10_000 });
  const failing = turns.take("a", async () => {
    throw new Error("no");
  });
  const next = turns.take("a", async () => "done");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("done");
});

test("who waits too long is refused and never begun, and those behind come all the same", async () => {
  const turns = createTurns({ atOnce: 1, longestWaitMs: 20 });
  const { end, ended } = task();
  const first = turns.take("a", () => ended);
  let begun = false;
  const late = turns.take("a", async () => {
    begun = true;
  });
  await expect(late).rejects.toMatchObject({ code: "too_many_requests", facts: { headers: { "Retry-After": "5" } } });
  end();
  await first;
  expect(await turns.take("a", async () => "next")).toBe("next");
  expect(begun).toBe(false);
});
