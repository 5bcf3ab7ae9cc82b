import { expect, test } from "@jest/globals";
import { type Expectation, faultOf, type Outcome } from "./check.ts";
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
