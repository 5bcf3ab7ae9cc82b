import type { WebhookDeliverySummary } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { resultWords } from "./delivery-result.ts";

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

test("§4.1.3 a success is one only where the API says so", () => {
  expect(resultWords(summary({ statusCode: 202 }), 5)).toMatchObject({
    tone: "good",
    title: "Succeeded: the receiver answered 202.",
  });
});

test("§4.1.3 a failed delivery is told as failed although the API answered 200", () => {
  const result = resultWords(summary({ succeeded: false, statusCode: 503, errorSummary: "connection refused" }), 5);
  expect(result.tone).toBe("bad");
  expect(result.title).toBe("Attempt 1 failed: 503, connection refused.");
  expect(result.text).toContain("retried");
});

test("§4.1.3 a delivery without an attempt is queued, and nothing more is claimed", () => {
  const queued = summary({ attemptCount: 0, statusCode: null, succeeded: false, attemptedAtUtc: null });
  expect(resultWords(queued, 5)).toMatchObject({ tone: "care", title: "Queued, not attempted yet." });
});
