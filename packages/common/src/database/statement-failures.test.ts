import { expect, test } from "@jest/globals";
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
