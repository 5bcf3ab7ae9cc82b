import { expect, test } from "@jest/globals";
import { outcomeOf, outcomeOfSummary } from "./delivery-outcome.ts";
import { endpointStatus, statusWords } from "./endpoint-status.ts";

test.each([
  ["pending", 0, false, "waiting"],
  ["pending", 1, true, "waiting"],
  ["pending", 1, false, "failing"],
  ["pending", 5, true, "failing"],
  ["parked", 0, false, "waiting"],
  ["parked", 3, false, "failing"],
  ["succeeded", 1, false, "succeeded"],
  ["exhausted", 5, false, "exhausted"],
] as const)("§3.2 a %s delivery with %i attempts (in flight: %s) is %s", (state, attemptCount, inFlight, outcome) => {
  expect(outcomeOf({ state, attemptCount, inFlight })).toBe(outcome);
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
  [{ enabled: true, disabledReason: null, consecutiveFailures: 2 }, "Active, failing"],
  [{ enabled: false, disabledReason: "paused", consecutiveFailures: 2 }, "Paused"],
  [{ enabled: false, disabledReason: "failures", consecutiveFailures: 5 }, "Disabled after five failures"],
] as const)("§3.1 the endpoint %j is called %s", (endpoint, words) => {
  expect(statusWords(endpointStatus(endpoint), 5)).toBe(words);
});
