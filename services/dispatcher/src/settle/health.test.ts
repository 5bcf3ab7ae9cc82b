import { expect, test } from "@jest/globals";
import { retrySchedule } from "../endpoint/retry-schedule.ts";
import type { Health } from "../sql/rows.ts";
import { type HealthResult, isWritten, nextHealth } from "./health.ts";

const THREE = ["d0/1", "d1/1", "d2/1"];
const THRESHOLDS = { pausesMs: [0], failingAfter: 3, disableAfter: 5 };
const healthy: Health = {
  revision: 1n,
  enabled: true,
  failureRun: [],
  failedAt: null,
  pausedUntil: null,
  failingTold: false,
  failingToldAt: null,
};
const BEGIN_MS = Date.parse("2026-03-01T12:00:00Z");
const at = (ms: number) => new Date(BEGIN_MS + ms);

/** Results of new deliveries, a second after one another: "F" a failure, "S" a success. */
function results(outcomes: string, from = 0): HealthResult[] {
  return [...outcomes].map((outcome, index) => ({
    deliveryId: `d${from + index}`,
    attempt: 1,
    revision: 1n,
    succeeded: outcome === "S",
    startedAt: at((from + index) * 1_000),
    durationMs: 10,
    retryAfterMs: null,
    manual: false,
    errorSummary: outcome === "S" ? null : "receiver answered 500",
  }));
}

test.each([
  ["F", { used: 1, changed: true, failureRun: ["d0/1"], notice: null }],
  ["S", { used: 1, changed: false, failureRun: [], notice: null }],
  ["FS", { used: 2, changed: false, failureRun: [], notice: null }],
  ["FSF", { used: 3, changed: true, failureRun: ["d2/1"], notice: null }],
  ["FFFFF", { used: 3, failureRun: THREE, noticeRun: THREE, notice: "endpoint.failing" }],
  ["FFSFFFS", { used: 6, failureRun: ["d3/1", "d4/1", "d5/1"], notice: "endpoint.failing" }],
])("a step from healthy takes in %s up to the first notice", (outcomes, step) => {
  expect(nextHealth(healthy, results(outcomes), THRESHOLDS)).toMatchObject({ disabled: false, ...step });
});

test("§3.1/failures a step at the fifth failure disables the endpoint", () => {
  const failureRun = ["a/1", "b/1", "c/1", "d/2"];
  expect(nextHealth({ ...healthy, failureRun }, results("FF"), THRESHOLDS)).toEqual({
    used: 1,
    changed: true,
    failureRun: [...failureRun, "d0/1"],
    failedAt: at(10),
    pausedUntil: null,
    failingTold: false,
    failingToldAt: null,
    disabled: true,
    notice: "endpoint.disabled",
    noticeRun: [...failureRun, "d0/1"],
  });
});

test("if failing is set to no less than disabling, there is only the notice of the disabling", () => {
  for (const failingAfter of [5, 6]) {
    const step = nextHealth(healthy, results("FFFFFF"), { ...THRESHOLDS, failingAfter });
    expect(step).toMatchObject({ used: 5, notice: "endpoint.disabled" });
  }
});

test("an endpoint with more failures than a new setting allows is disabled at its next failure", () => {
  const failing = { ...healthy, failureRun: ["a/1", "b/1", "c/1", "d/1"] };
  const step = nextHealth(failing, results("F"), { pausesMs: [0], failingAfter: 1, disableAfter: 2 });
  expect(step).toMatchObject({ disabled: true, notice: "endpoint.disabled", failureRun: ["a/1", "b/1"] });
});

test("a step takes no account of other revisions, of disabled endpoints, or of a failure that it counted before", () => {
  const unchanged = { used: 1, changed: false, notice: null };
  expect(nextHealth({ ...healthy, revision: 2n }, results("F"), THRESHOLDS)).toMatchObject(unchanged);
  expect(nextHealth({ ...healthy, enabled: false }, results("F"), THRESHOLDS)).toMatchObject(unchanged);
  expect(nextHealth({ ...healthy, failureRun: ["d0/1"] }, results("F"), THRESHOLDS)).toMatchObject(unchanged);
});

test("attempts that overlap are one failure in a step, and what the receiver asks for makes the pause longer", () => {
  const [first, second] = results("FF") as [HealthResult, HealthResult];
  const overlapping = { ...second, startedAt: at(5), retryAfterMs: 30_000 };
  const thresholds = { ...THRESHOLDS, pausesMs: [1_000] };
  const step = nextHealth(healthy, [first, overlapping], thresholds);
  expect(step).toMatchObject({ failureRun: ["d0/1"], failedAt: at(10), pausedUntil: at(30_015), changed: true });
  const failing = { ...healthy, failureRun: ["d0/1"], failedAt: at(10), pausedUntil: at(1_010) };
  const longer = nextHealth(failing, [overlapping], thresholds);
  expect(longer).toMatchObject({ failureRun: ["d0/1"], pausedUntil: at(30_015), changed: true });
  expect(isWritten(longer, failing, failing)).toBe(false);
  expect(isWritten(longer, failing, { ...failing, pausedUntil: at(30_015) })).toBe(true);
});

test("a success after a run with a notice of failing has a notice of the run that it ends", () => {
  const noticed = { failingTold: true, failingToldAt: at(-10) };
  const failing = {
    ...healthy,
    failureRun: ["a/1", "b/1", "c/1"],
    failedAt: at(-10),
    pausedUntil: at(990),
    ...noticed,
  };
  const recovered = { used: 1, changed: true, failureRun: [], pausedUntil: null, disabled: false, failingTold: false };
  expect(nextHealth(failing, results("SF"), THRESHOLDS)).toMatchObject({
    ...recovered,
    notice: "endpoint.recovered",
    noticeRun: failing.failureRun,
  });
});

test("an endpoint has a second notice of failing an hour after the first one, and no sooner", () => {
  const HOUR_MS = 60 * 60_000;
  // The third failure ends 2,010 ms after the beginning.
  const noticedAt = (ms: number) => ({ ...healthy, failingToldAt: at(2_010 - ms) });
  expect(nextHealth(noticedAt(HOUR_MS - 1), results("FFF"), THRESHOLDS)).toMatchObject({
    notice: null,
    failingTold: false,
    failingToldAt: at(2_011 - HOUR_MS),
  });
  expect(nextHealth(noticedAt(HOUR_MS), results("FFF"), THRESHOLDS)).toMatchObject({
    notice: "endpoint.failing",
    failingTold: true,
    failingToldAt: at(2_010),
  });
});

test("a step is known to be written by the run and the version that it leaves", () => {
  const step = nextHealth(healthy, results("F"), THRESHOLDS);
  const { failureRun, failedAt, pausedUntil } = step;
  const written = { ...healthy, failureRun, failedAt, pausedUntil };
  expect(isWritten(step, healthy, written)).toBe(true);
  expect(isWritten(step, healthy, healthy)).toBe(false);
  expect(isWritten(step, healthy, { ...written, revision: 2n })).toBe(false);
  const before = { ...healthy, failureRun: ["a/1", "b/1", "c/1", "d/1"] };
  const disabling = nextHealth(before, results("F"), THRESHOLDS);
  const disabled = { ...written, ...disabling, revision: 2n, enabled: false };
  expect(isWritten(disabling, before, disabled)).toBe(true);
});

const MINUTE_MS = 60_000;
const schedule = retrySchedule([1, 2, 4, 8].map((minutes) => minutes * MINUTE_MS));

test("§8/delays §3.2/exhausted a delivery has five attempts, 1, 2, 4 and 8 minutes after the preceding one, and none after", () => {
  const endedAt = new Date("2026-03-01T12:00:00.250Z");
  expect([1, 2, 3, 4, 5].map((attempt) => schedule.nextAttemptAt(attempt, endedAt)?.toISOString())).toEqual([
    "2026-03-01T12:01:00.250Z",
    "2026-03-01T12:02:00.250Z",
    "2026-03-01T12:04:00.250Z",
    "2026-03-01T12:08:00.250Z",
    undefined,
  ]);
});

test("a receiver that asks for more makes the delay longer, and never shorter", () => {
  const endedAt = new Date("2026-03-01T12:00:00.000Z");
  const at = (attempt: number, retryAfterMs: number) =>
    schedule.nextAttemptAt(attempt, endedAt, retryAfterMs)?.toISOString();
  expect(at(1, 5 * MINUTE_MS)).toBe("2026-03-01T12:05:00.000Z");
  expect(at(1, 5_000)).toBe("2026-03-01T12:01:00.000Z");
  expect(at(4, 5 * MINUTE_MS)).toBe("2026-03-01T12:08:00.000Z");
  expect(at(5, 5 * MINUTE_MS)).toBeUndefined();
});
