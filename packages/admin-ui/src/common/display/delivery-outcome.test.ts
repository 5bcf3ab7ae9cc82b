import { expect, test } from "@jest/globals";
import { besideStatus, expiredWords, hasEnded, outcomeOf, outcomeOfSummary } from "./delivery-outcome.ts";
import { endpointStatus, statusWords } from "./endpoint-status.ts";

test.each([
  ["pending", 0, "waiting"],
  ["pending", 1, "failing"],
  ["parked", 0, "waiting"],
  ["parked", 3, "failing"],
  ["succeeded", 1, "succeeded"],
  ["exhausted", 5, "exhausted"],
  ["expired", 0, "expired"],
  ["expired", 4, "expired"],
] as const)("§3.2 a %s delivery of which %i attempts have ended is %s", (state, attemptCount, outcome) => {
  expect(outcomeOf({ state, attemptCount })).toBe(outcome);
});

test("an expired delivery has ended, and says for how long deliveries are kept", () => {
  expect(hasEnded("expired")).toBe(true);
  expect(hasEnded("parked")).toBe(false);
  expect(expiredWords(30)).toMatch(/unfinished after 30 days/);
  expect(expiredWords(1)).toMatch(/unfinished after a day/);
});

test.each([
  [{ succeeded: true, attemptCount: 1, statusCode: 200 }, "succeeded"],
  [{ succeeded: false, attemptCount: 0, statusCode: null }, "waiting"],
  [{ succeeded: false, attemptCount: 1, statusCode: null }, "waiting"],
  [{ succeeded: false, attemptCount: 2, statusCode: 500 }, "failing"],
  [{ succeeded: false, attemptCount: 5, statusCode: 503 }, "exhausted"],
] as const)("a summary %j reads as %s", (summary, outcome) => {
  const rest = { id: "d", eventType: "RiskCreated", errorSummary: null, attemptedAtUtc: null } as const;
  expect(outcomeOfSummary({ ...rest, ...summary }, 5)).toBe(outcome);
});

test.each([
  [{ enabled: true, disabledReason: null, consecutiveFailures: 0 }, "Active"],
  [
    { enabled: true, disabledReason: null, consecutiveFailures: 2, quarantinedAtUtc: "2026-01-31T12:00:00Z" },
    "Active, but waiting",
  ],
  [{ enabled: true, disabledReason: null, consecutiveFailures: 2 }, "Active, failing"],
  [{ enabled: false, disabledReason: "paused", consecutiveFailures: 2 }, "Paused"],
  [{ enabled: false, disabledReason: "failures", consecutiveFailures: 5 }, "Disabled after five failures"],
] as const)("§3.1 the endpoint %j is called %s", (endpoint, words) => {
  expect(statusWords(endpointStatus({ quarantinedAtUtc: null, ...endpoint }), 5)).toBe(words);
});

test.each([
  [500, "receiver answered 500", ""],
  [301, "receiver answered 301, redirects are not followed", "redirects are not followed"],
  [503, "connection refused", "connection refused"],
  [503, "receiver answered 503", ""],
  [200, null, ""],
  [null, null, ""],
])("beside %s stands what %j adds", (statusCode, errorSummary, words) => {
  expect(besideStatus(statusCode, errorSummary)).toBe(words);
});
