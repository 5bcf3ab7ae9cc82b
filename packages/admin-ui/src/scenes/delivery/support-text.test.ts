import type { DeliveryDetails } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { supportText } from "./support-text.ts";

const delivery: DeliveryDetails = {
  id: "0193a1b2-0000-7000-8000-000000000001",
  businessEventId: "0193a1b2-0000-7000-8000-000000000002",
  endpointId: "0193a1b2-0000-7000-8000-000000000003",
  endpointName: "Billing",
  entityId: "0193a1b2-0000-7000-8000-000000000004",
  eventType: "RiskCreated",
  attemptCount: 1,
  statusCode: 503,
  succeeded: false,
  errorSummary: "connection refused",
  failureKind: "connection_refused",
  attemptedAtUtc: "2026-11-20T14:03:22.187Z",
  state: "pending",
  inFlight: false,
  resendOf: null,
  author: null,
  createdAtUtc: "2026-11-20T14:03:22.100Z",
  nextAttemptAtUtc: "2026-11-20T14:04:22.187Z",
  durationMs: 3,
  body: '{"salary":"secret"}',
  attempts: [
    {
      number: 1,
      attemptedAtUtc: "2026-11-20T14:03:22.187Z",
      durationMs: 3,
      statusCode: 503,
      errorSummary: "connection refused",
      failureKind: "connection_refused",
      responseExcerpt: null,
      timestamp: "1795183402",
      headers: [],
    },
  ],
};

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
