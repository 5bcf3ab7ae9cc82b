import { expect, test } from "@jest/globals";
import { type Expectation, faultOf, type Outcome } from "./check.ts";
import { describeResult, describeResults } from "./check-command.ts";
import type { CheckResult } from "./check-receiver.ts";
import { FORGED_REQUESTS } from "./forged-requests.ts";
import { GOOD_REQUESTS } from "./good-requests.ts";
import { ODD_REQUESTS } from "./odd-requests.ts";

const closed: Outcome = { failure: "broken", message: "closed" };
const late: Outcome = { failure: "timeout", message: "late" };

test.each<[Expectation, Outcome, boolean]>([
  ["accept", { status: 204 }, true],
  ["accept", { status: 302 }, false],
  ["accept", { status: 500 }, false],
  ["accept", closed, false],
  ["accept", late, false],
  ["refuse", { status: 401 }, true],
  ["refuse", { status: 204 }, false],
  ["refuse", { status: 500 }, false],
  ["refuse", closed, false],
  ["refuse_or_close", { status: 413 }, true],
  ["refuse_or_close", closed, true],
  ["refuse_or_close", late, false],
  ["refuse_or_close", { status: 200 }, false],
  ["answer", { status: 204 }, true],
  ["answer", { status: 400 }, true],
  ["answer", { status: 500 }, false],
  ["answer", closed, false],
  ["nothing", closed, true],
])("if a receiver should %s, %j is right: %s", (expectation, outcome, right) => {
  expect(faultOf(expectation, outcome) === null).toBe(right);
});

test("each check has an id of its own, and says what to do", () => {
  const CHECKS = [...GOOD_REQUESTS, ...FORGED_REQUESTS, ...ODD_REQUESTS];
  expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  for (const { id, title, advice } of CHECKS) {
    expect(id).toMatch(/^[a-z0-9_]+$/);
    expect(title).toMatch(/^(accepts|answers|refuses|survives|takes) /);
    expect(advice).toMatch(/\.$/);
  }
});

const passed: CheckResult = {
  id: "stale",
  title: "refuses what is old",
  passed: true,
  statuses: [401],
  durationMs: 3,
  fault: null,
  advice: null,
  warning: null,
  questions: [],
};
const failed: CheckResult = {
  ...passed,
  passed: false,
  statuses: [204, null],
  fault: "it was accepted",
  advice: "Don't.",
};

test("a check that passed is one line, and one that failed says why and what to do", () => {
  expect(describeResult(passed, false)).toBe("ok    refuses what is old  401 in 3 ms");
  expect(describeResult(failed, false)).toBe(
    "FAIL  refuses what is old  204, no answer in 3 ms\n      it was accepted\n      Don't.",
  );
});

test("a check that passed slowly says so, and is counted", () => {
  const slow = { ...passed, warning: "It took long." };
  expect(describeResult(slow, false)).toBe("slow  refuses what is old  401 in 3 ms\n      It took long.");
  expect(describeResults([slow, passed])).toBe("all 2 passed, 1 slowly");
});

test("what the answers can't show is asked at the end", () => {
  const asking = { ...passed, questions: ["Did event 1 take effect once?"] };
  expect(describeResults([asking])).toMatch(/^all 1 passed\n\n.*\n- Did event 1 take effect once\?$/);
});

test("the last line counts, and says where the first failure hides the rest", () => {
  expect(describeResults([passed, passed])).toBe("all 2 passed");
  expect(describeResults([passed, failed])).toBe("1 of 2 failed");
  expect(describeResults([failed, passed])).toMatch(/^1 of 2 failed; mend the first one first/);
});

test("a fault that quotes the receiver steers no terminal", () => {
  const failed = { ...passed, passed: false, fault: "it answered \u001b[2J\n-> ok", advice: "Look at it." };
  expect(describeResult(failed, false)).toContain("it answered \\u001b[2J -> ok\n");
});
