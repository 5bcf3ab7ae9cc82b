import { describe, expect, test } from "@jest/globals";
import pg from "pg";
import { statementFailures } from "./statement-failures.ts";

function watched() {
  let nowMs = 0;
  const failures = statementFailures(() => nowMs);
  const later = (ms: number) => {
    nowMs += ms;
  };
  /** Runs a statement that takes so long, and fails with this SQLSTATE if one is given. */
  const run = async (text: string, code?: string, ms = 0) =>
    await failures
      .watch(text, async () => {
        later(ms);
        if (code !== undefined) throw Object.assign(new pg.DatabaseError("no", 0, "error"), { code });
      })
      .catch(() => {});
  return { failures, later, run };
}

test.each([
  ["a full disk", "53100"],
  ["a read-only database", "25006"],
  ["a right that was revoked", "42501"],
  ["a table that is missing", "42P01"],
])("%s counts from the first failed try to the last one, until the statement succeeds", async (_, code) => {
  const { failures, later, run } = watched();
  await run("store", code);
  expect(failures.seconds()).toBe(0);
  later(20_000);
  await run("store", code);
  await run("read");
  expect(failures.seconds()).toBe(20);
  await run("store");
  expect(failures.seconds()).toBe(0);
});

test("a commit that does not end counts from its begin", async () => {
  const { failures, run } = watched();
  await run("store", "57P01", 32_000);
  expect(failures.seconds()).toBe(32);
});

test.each([
  ["data that PostgreSQL refuses", "22021"],
  ["a constraint", "23505"],
  ["a deadlock", "40P01"],
  ["a statement that was too much", "57014"],
])("%s is not counted", async (_, code) => {
  const { failures, later, run } = watched();
  for (let tries = 0; tries < 3; tries++) {
    await run("store", code);
    later(10_000);
  }
  expect(failures.seconds()).toBe(0);
});

describe("work that must go on", () => {
  const outOfTime = Object.assign(new pg.DatabaseError("no", 0, "error"), { code: "57014" });
  const refused = Object.assign(new pg.DatabaseError("no", 0, "error"), { code: "22021" });

  function work() {
    const { failures, later } = watched();
    const progress = failures.createProgress();
    /** Begins a part, and returns how to end it. */
    function begin() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const ended = progress.run(() => promise).catch(() => {});
      return async (error?: Error) => {
        if (error) reject(error);
        else resolve();
        await ended;
      };
    }
    return { later, begin, stalled: () => [progress.stalledMs(), failures.seconds()] };
  }

  test("work counts while a part of it does not end, and is stalled after ten seconds", async () => {
    const { later, begin, stalled } = work();
    const end = begin();
    later(9_999);
    expect(stalled()).toEqual([9_999, 0]);
    later(1);
    expect(stalled()).toEqual([10_000, 10]);
    await end();
    expect(stalled()).toEqual([0, 0]);
  });

  test("work that runs out of time counts from its first try on, until a part succeeds, or PostgreSQL refuses one", async () => {
    for (const error of [undefined, refused]) {
      const { later, begin, stalled } = work();
      for (let tries = 0; tries < 2; tries++) {
        const end = begin();
        later(30_000);
        await end(outOfTime);
      }
      expect(stalled()).toEqual([60_000, 60]);
      await begin()(error);
      expect(stalled()).toEqual([0, 0]);
    }
  });

  test("work goes on if one part succeeds beside another that waits, and is forgotten if it is not tried any more", async () => {
    const { later, begin, stalled } = work();
    const end = begin();
    later(20_000);
    await begin()();
    expect(stalled()).toEqual([0, 0]);
    later(15_000);
    await end(outOfTime);
    expect(stalled()).toEqual([15_000, 15]);
    later(90_001);
    expect(stalled()).toEqual([0, 0]);
  });
});

test("a statement that is not tried any more is forgotten", async () => {
  const { failures, later, run } = watched();
  await run("store", "53100");
  later(30_000);
  await run("store", "53100");
  later(80_000);
  expect(failures.seconds()).toBe(30);
  later(20_000);
  expect(failures.seconds()).toBe(0);
});
