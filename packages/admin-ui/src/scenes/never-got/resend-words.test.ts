import type { Resend } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { deliveriesIn, progressWords, sizeIn, stateWords } from "./resend-words.ts";

const resend: Resend = {
  id: "01a1f9ac-85a7-7000-8000-05bafe1f0498",
  state: "running",
  stopReason: null,
  startedAtUtc: "2026-03-01T12:00:00.000Z",
  startedBy: "Ana",
  endedAtUtc: null,
  stoppedBy: null,
  filter: { eventType: [], statusCode: [], from: null, to: null },
  total: 1_000,
  bytes: 412_000,
  sent: 0,
  succeeded: 0,
  failed: 0,
  waiting: 0,
};

test.each<[Partial<Resend>, string]>([
  [{}, "0 of 1,000 sent."],
  [{ sent: 412, succeeded: 398, waiting: 14 }, "412 of 1,000 sent: 398 succeeded, 14 wait."],
  [{ sent: 3, succeeded: 1, failed: 1, waiting: 1 }, "3 of 1,000 sent: 1 succeeded, 1 given up, 1 waits."],
])("the progress of %j is told as: %s", (row, words) => {
  expect(progressWords({ ...resend, ...row })).toBe(words);
});

test.each<[Partial<Resend>, string]>([
  [{}, "Running"],
  [{ state: "finished" }, "Finished"],
  [{ state: "stopped", stopReason: "asked", stoppedBy: "Ana" }, "Stopped by Ana"],
  [{ state: "stopped", stopReason: "asked" }, "Stopped by an admin"],
  [{ state: "stopped", stopReason: "disabled" }, "Stopped, since the webhook was not active"],
])("the state of %j is told as: %s", (row, words) => {
  expect(stateWords({ ...resend, ...row })).toBe(words);
});

test("counts and sizes are told in words", () => {
  expect([1, 1_000].map(deliveriesIn)).toEqual(["1 delivery", "1,000 deliveries"]);
  expect([0, 1, 812, 1_234, 412_000, 12_345_678].map(sizeIn)).toEqual([
    "0 bytes",
    "1 byte",
    "812 bytes",
    "1.2 kB",
    "412 kB",
    "12 MB",
  ]);
});
