import { isUuid } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { timeOf } from "./ids.ts";
import { noticeId } from "./notice-id.ts";

test("ids of notices are UUIDs of version 7 that begin with the time, and follow one another within a millisecond", () => {
  const now = new Date("2026-03-01T12:00:00.123Z");
  const ids = Array.from({ length: 100 }, () => noticeId(now));
  expect(ids.every(isUuid)).toBe(true);
  expect(ids.every((id) => id[14] === "7")).toBe(true);
  expect(ids.map(timeOf)).toEqual(ids.map(() => now));
  expect([...ids].sort()).toEqual(ids);
  expect(noticeId(new Date(now.getTime() + 1)) > (ids.at(-1) as string)).toBe(true);
});
