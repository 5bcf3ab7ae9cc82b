import { describe, expect, test } from "@jest/globals";
import { afterFailure, type Failure, type FailureRun, HEALTHY } from "./failure-run.ts";

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000];
const BEGIN_MS = Date.parse("2026-03-01T12:00:00Z");
const at = (ms: number) => new Date(BEGIN_MS + ms);

/** An attempt that begins so many milliseconds after the beginning, and takes ten. */
function failure(startMs: number, override: Partial<Failure> = {}): Failure {
  return { startedAt: at(startMs), durationMs: 10, retryAfterMs: null, manual: false, ...override };
}

function runOf(failures: readonly Failure[]): FailureRun {
  return failures.reduce((run, each) => afterFailure(run, each, PAUSES_MS), HEALTHY);
}

describe("a run of failures", () => {
  test("five attempts that fail at the same moment are one failure", () => {
    const run = runOf([0, 0, 3, 5, 9].map((startMs) => failure(startMs)));
    expect(run).toEqual({ failures: 1, failedAt: at(10), pausedUntil: at(1_010) });
  });

  test("an attempt that begins when the last one ends overlaps it, and one that begins later follows it", () => {
    const first = afterFailure(HEALTHY, failure(0), [0]);
    expect(afterFailure(first, failure(10), [0]).failures).toBe(1);
    expect(afterFailure(first, failure(11), [0]).failures).toBe(2);
  });

  test("an attempt that took long and began before the last failure does not count when it ends", () => {
    expect(runOf([failure(0), failure(2_000), failure(5, { durationMs: 15_000 })])).toEqual({
      failures: 2,
      failedAt: at(2_010),
      pausedUntil: at(4_010),
    });
  });

  test("the pauses after four failures are 1, 2, 4 and 8 seconds, and each further one is the last", () => {
    let run = HEALTHY;
    const pausesMs: number[] = [];
    for (let count = 0; count < 6; count++) {
      const startMs = (run.pausedUntil?.getTime() ?? BEGIN_MS) - BEGIN_MS;
      run = afterFailure(run, failure(startMs), PAUSES_MS);
      pausesMs.push((run.pausedUntil?.getTime() ?? 0) - (run.failedAt?.getTime() ?? 0));
    }
    expect(run.failures).toBe(6);
    expect(pausesMs).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  });

  test("an attempt during the pause counts where it is a manual one, and its pause is added", () => {
    const first = runOf([failure(0)]);
    expect(afterFailure(first, failure(500), PAUSES_MS)).toEqual(first);
    expect(afterFailure(first, failure(500, { manual: true }), PAUSES_MS)).toEqual({
      failures: 2,
      failedAt: at(510),
      pausedUntil: at(2_510),
    });
  });

  test("a receiver that asks for it is left alone for longer, and never for less than the pause", () => {
    expect(runOf([failure(0, { retryAfterMs: 60_000 })]).pausedUntil).toEqual(at(60_010));
    expect(runOf([failure(0, { retryAfterMs: 1 })]).pausedUntil).toEqual(at(1_010));
  });

  test("a failure that does not count makes the pause longer where the receiver asks for it, and never shorter", () => {
    const asked = runOf([failure(0), failure(5, { retryAfterMs: 30_000 })]);
    expect(asked).toEqual({ failures: 1, failedAt: at(10), pausedUntil: at(30_015) });
    expect(afterFailure(asked, failure(6, { retryAfterMs: 10 }), PAUSES_MS)).toEqual(asked);
  });

  test("without pauses, attempts that follow one another count at once", () => {
    const run = [0, 11, 22].reduce((before, startMs) => afterFailure(before, failure(startMs), [0]), HEALTHY);
    expect(run).toEqual({ failures: 3, failedAt: at(32), pausedUntil: at(32) });
  });
});
