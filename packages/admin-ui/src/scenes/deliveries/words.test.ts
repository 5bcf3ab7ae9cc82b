import type { DeliveryDetails, Resend, WebhookDeliverySummary } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { deliveriesIn, progressWords, resultWords, sizeIn, stateWords, supportText } from "./words.ts";

const attempt = { number: 1, attemptedAtUtc: "2026-11-20T14:03:22.187Z", statusCode: 503, responseExcerpt: "secret" };
const delivery = {
  id: "0193a1b2-0000-7000-8000-000000000001",
  eventType: "RiskCreated",
  body: '{"salary":"secret"}',
  attempts: [{ ...attempt, errorSummary: "connection refused", failureKind: "connection_refused" }],
} as unknown as DeliveryDetails;

test("§7/support what goes to support names webhook, time, delivery, event and result, and never the payload", () => {
  expect(supportText("Billing", delivery)).toBe(
    [
      "Webhook: Billing",
      "Attempt: 1, 2026-11-20T14:03:22.187Z",
      "Delivery id: 0193a1b2-0000-7000-8000-000000000001",
      "Event: RiskCreated",
      "Result: 503 connection refused",
    ].join("\n"),
  );
});

test("§7/support a delivery without an attempt says so", () => {
  expect(supportText("Billing", { ...delivery, attempts: [] })).toContain("Attempt: none yet");
});

const summary = (change: Partial<WebhookDeliverySummary>): WebhookDeliverySummary => ({
  id: "0193a1b2-0000-7000-8000-000000000001",
  eventType: "RiskCreated",
  attemptCount: 1,
  statusCode: 200,
  succeeded: true,
  errorSummary: null,
  attemptedAtUtc: "2026-11-20T12:00:00Z",
  ...change,
});

test("§4.1.3 only the API's word makes a delivery a success", () => {
  expect(resultWords(summary({ statusCode: 202 }), 5)).toMatchObject({
    tone: "good",
    title: "Succeeded: the receiver answered 202.",
  });
});

test("§4.1.3 a failed delivery is called failed although the API answered 200", () => {
  const result = resultWords(summary({ succeeded: false, statusCode: 503, errorSummary: "connection refused" }), 5);
  expect(result.tone).toBe("bad");
  expect(result.title).toBe("Attempt 1 failed: 503, connection refused.");
  expect(result.text).toContain("retried");
});

test("§4.1.3 a delivery without an attempt is queued, and nothing more is claimed", () => {
  const queued = summary({ attemptCount: 0, statusCode: null, succeeded: false, attemptedAtUtc: null });
  expect(resultWords(queued, 5)).toMatchObject({ tone: "care", title: "Queued, not attempted yet." });
});

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
  unfinished: 0,
};

test.each<[Partial<Resend>, string]>([
  [{}, "0 of 1,000 sent."],
  [{ sent: 412, succeeded: 398, unfinished: 14 }, "412 of 1,000 sent: 398 succeeded, 14 wait."],
  [{ sent: 3, succeeded: 1, failed: 1, unfinished: 1 }, "3 of 1,000 sent: 1 succeeded, 1 given up, 1 waits."],
])("the progress of %j reads: %s", (row, words) => {
  expect(progressWords({ ...resend, ...row })).toBe(words);
});

test.each<[Partial<Resend>, string]>([
  [{}, "Running"],
  [{ state: "finished" }, "Finished"],
  [{ state: "stopped", stopReason: "asked", stoppedBy: "Ana" }, "Stopped by Ana"],
  [{ state: "stopped", stopReason: "asked" }, "Stopped by an admin"],
  [{ state: "stopped", stopReason: "disabled" }, "Stopped, since the webhook was not active"],
])("the state of %j reads: %s", (row, words) => {
  expect(stateWords({ ...resend, ...row })).toBe(words);
});

test("counts and sizes have words", () => {
  expect([1, 1_000].map(deliveriesIn)).toEqual(["1 delivery", "1,000 deliveries"]);
  const sizes = [0, 1, 812, 1_234, 412_000, 12_345_678].map(sizeIn);
  expect(sizes).toEqual(["0 bytes", "1 byte", "812 bytes", "1.2 kB", "412 kB", "12 MB"]);
});
