import { expect, test } from "@jest/globals";
import { nextTryWords } from "./endpoint-status.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const inSeconds = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
const failing = { nextTryAtUtc: null, cutOffSinceUtc: null, heldSinceUtc: null };

test.each([
  [3.2, "next try in 4 s"],
  [59, "next try in 59 s"],
  [65, "next try in 1:05"],
  [0, "trying again"],
  [-7, "trying again"],
])("a failing webhook whose next try is %d seconds ahead says: %s", (seconds, words) => {
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(seconds) }, now)).toBe(words);
});

test("where nothing waits there is no next try, nor without Herald's network, nor while its operator lets nothing be sent", () => {
  expect(nextTryWords(failing, now)).toBe(null);
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(4), cutOffSinceUtc: inSeconds(-4) }, now)).toBe(null);
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(4), heldSinceUtc: inSeconds(-4) }, now)).toBe(null);
});
