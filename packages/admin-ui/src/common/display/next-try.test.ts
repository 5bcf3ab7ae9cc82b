import { expect, test } from "@jest/globals";
import { nextTryWords } from "./next-try.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const inSeconds = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
const failing = { nextTryAtUtc: null, cutOffSinceUtc: null, heldSinceUtc: null, unfinished: { pending: 2, parked: 0 } };

test.each([
  [3.2, "next try in 4 s"],
  [59, "next try in 59 s"],
  [65, "next try in 1:05"],
  [0, "trying again"],
  [-7, "trying again"],
])("a failing webhook whose next try is %d seconds ahead says: %s", (seconds, words) => {
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(seconds) }, now)).toBe(words);
});

test("an attempt under way is a try, nothing that waits is none, and without Herald's network, or while an operator has stopped all, there is none", () => {
  expect(nextTryWords(failing, now)).toBe("trying again");
  expect(nextTryWords({ ...failing, unfinished: { pending: 0, parked: 0 } }, now)).toBe(null);
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(4), cutOffSinceUtc: inSeconds(-4) }, now)).toBe(null);
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(4), heldSinceUtc: inSeconds(-4) }, now)).toBe(null);
});
