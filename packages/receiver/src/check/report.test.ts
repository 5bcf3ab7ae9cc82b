import { expect, test } from "@jest/globals";
import type { CheckResult } from "./check-receiver.ts";
import { describeResult, describeResults } from "./report.ts";

const passed: CheckResult = {
  id: "stale",
  title: "refuses what is old",
  passed: true,
  statuses: [401],
  durationMs: 3,
  fault: null,
  advice: null,
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

test("the last line counts, and says where the first failure hides the rest", () => {
  expect(describeResults([passed, passed])).toBe("all 2 passed");
  expect(describeResults([passed, failed])).toBe("1 of 2 failed");
  expect(describeResults([failed, passed])).toMatch(/^1 of 2 failed; mend the first one first/);
});
