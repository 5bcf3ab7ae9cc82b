import type { HourOfDeliveries } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { formats } from "../formats.ts";
import { barPaths, countedPeriod, dayInWords } from "./hours.tsx";
import {
  besideStatus,
  endpointStatus,
  expiredWords,
  hasEnded,
  heldAfterFailure,
  needOf,
  nextAttemptWords,
  nextTryWords,
  outcomeOfSummary,
  statusWords,
} from "./status.ts";

test("an expired delivery has ended, and says for how long deliveries are kept", () => {
  expect(hasEnded("expired")).toBe(true);
  expect(hasEnded("parked")).toBe(false);
  expect(expiredWords(30)).toMatch(/unfinished after 30 days/);
  expect(expiredWords(1)).toMatch(/unfinished after a day/);
});

test.each([
  [{ succeeded: true, attemptCount: 1, statusCode: 200 }, "succeeded", "succeeded"],
  [{ succeeded: false, attemptCount: 0, statusCode: null }, "waiting", "parked"],
  [{ succeeded: false, attemptCount: 2, statusCode: 500 }, "failing", "parked"],
  [{ succeeded: false, attemptCount: 5, statusCode: 503 }, "exhausted", "exhausted"],
] as const)("§3.2 a summary %j reads as %s, and of a webhook that is not active as %s", (summary, active, inactive) => {
  const rest = { id: "d", eventType: "RiskCreated", errorSummary: null, attemptedAtUtc: null } as const;
  expect(outcomeOfSummary({ ...rest, ...summary }, 5, true)).toBe(active);
  expect(outcomeOfSummary({ ...rest, ...summary }, 5, false)).toBe(inactive);
});

test.each([
  [{ enabled: true, disabledReason: null, consecutiveFailures: 0 }, "Active"],
  [{ enabled: true, disabledReason: null, consecutiveFailures: 2, quarantinedAtUtc: "2026" }, "Active, but waiting"],
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

const now = Date.parse("2026-11-20T12:00:00Z");
const inSeconds = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
const failing = { nextTryAtUtc: null, outageSinceUtc: null, stoppedSinceUtc: null };

test.each([
  [3.2, "next try in 4 s"],
  [59, "next try in 59 s"],
  [65, "next try in 1:05"],
  [0, "trying again"],
  [-7, "trying again"],
])("a failing webhook whose next try is %d seconds ahead says: %s", (seconds, words) => {
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(seconds) }, now)).toBe(words);
});

const delivery = { outcome: "failing", inFlight: false, nextAttemptAtUtc: null } as const;

test.each([
  [{ ...delivery, inFlight: true }, null, "due now"],
  [{ ...delivery, inFlight: true }, 16, "after the next try, in 16 s"],
  [{ ...delivery, inFlight: true }, -1, "due now"],
  [{ ...delivery, nextAttemptAtUtc: inSeconds(-2) }, 16, "after the next try, in 16 s"],
  [{ ...delivery, nextAttemptAtUtc: inSeconds(65) }, 16, "in 1:05"],
  [{ ...delivery, nextAttemptAtUtc: inSeconds(16) }, 16, "in 16 s"],
  [{ ...delivery, outcome: "parked", nextAttemptAtUtc: inSeconds(16) }, null, "after a resume"],
  [{ ...delivery, outcome: "exhausted" }, 16, null],
] as const)("the next attempt of %j, whose webhook is tried in %s s, is said to be: %s", (row, tryIn, words) => {
  expect(nextAttemptWords(row, tryIn === null ? null : inSeconds(tryIn), now)).toBe(words);
});

test("there is no next try if nothing waits, in an outage, or while the operator has stopped deliveries", () => {
  expect(nextTryWords(failing, now)).toBe(null);
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(4), outageSinceUtc: inSeconds(-4) }, now)).toBe(null);
  expect(nextTryWords({ ...failing, nextTryAtUtc: inSeconds(4), stoppedSinceUtc: inSeconds(-4) }, now)).toBe(null);
});

const hour = (counts: Partial<HourOfDeliveries>): HourOfDeliveries => ({
  startUtc: "2026-11-20T12:00:00Z",
  succeeded: 0,
  retriedSucceeded: 0,
  waiting: 0,
  failing: 0,
  parked: 0,
  parkedFailing: 0,
  exhausted: 0,
  ...counts,
});

test("a day has words, which leave out zeros", () => {
  expect(dayInWords([hour({ succeeded: 1_300, retriedSucceeded: 12 }), hour({ failing: 2, exhausted: 1 })])).toBe(
    "1,303 deliveries in the last 24 hours: 1,288 succeeded, 12 succeeded after a retry, 2 failing so far, 1 given up",
  );
  expect(dayInWords([hour({ waiting: 1 })])).toBe("1 delivery in the last 24 hours: 1 waiting");
  expect(dayInWords([hour({})])).toBe("No deliveries in the last 24 hours");
});

test("successes stand on the base line, failures hang below it", () => {
  const { succeeded, failed, baseY } = barPaths([hour({ succeeded: 9 }), hour({ failing: 1 })], 20, 21);
  expect(baseY).toBe(15);
  expect(succeeded).toBe("M0 0h9v15h-9z");
  expect(failed).toBe("M10 16h9v5h-9z");
});

test("regression: what failed stays red when its webhook is disabled, in words too", () => {
  const hours = [hour({ succeeded: 9 }), hour({ parked: 1, parkedFailing: 1 })];
  expect(barPaths(hours, 20, 21).failed).toBe("M10 16h9v5h-9z");
  expect(dayInWords([hour({ parked: 7, parkedFailing: 5 })])).toBe(
    "7 deliveries in the last 24 hours: 2 on hold, 5 on hold after a failure",
  );
  expect(heldAfterFailure("parked", 1)).toBe(true);
  expect(heldAfterFailure("parked", 0) || heldAfterFailure("failing", 1)).toBe(false);
});

test("broken webhooks come first, and a pause moves no row", () => {
  const judged = { enabled: true, disabledReason: null, consecutiveFailures: 0, quarantinedAtUtc: null };
  const off = { ...judged, enabled: false };
  expect(needOf({ ...off, disabledReason: "failures" })).toBe(0);
  expect(needOf({ ...judged, quarantinedAtUtc: "2026-01-31T12:00:00Z" })).toBe(1);
  expect(needOf({ ...judged, consecutiveFailures: 2 })).toBe(2);
  expect([needOf(judged), needOf({ ...off, disabledReason: "paused" })]).toEqual([3, 3]);
});

test("an empty day draws nothing", () => {
  expect(barPaths([hour({}), hour({})], 20, 20)).toMatchObject({ succeeded: "", waiting: "", failed: "" });
});

test("a day with more deliveries than are counted says since when they are", () => {
  const hours = [hour({}), hour({ startUtc: "2026-11-20T13:00:00Z", succeeded: 2_000 })];
  expect(countedPeriod(hours, "2026-11-20T12:00:00Z")).toBe("in the last 24 hours");
  expect(dayInWords(hours, countedPeriod(hours, "2026-11-20T13:05:00Z"))).toBe(
    `2,000 deliveries since ${formats.dateTime("2026-11-20T13:05:00Z")}, the newest of the day: 2,000 succeeded`,
  );
});
