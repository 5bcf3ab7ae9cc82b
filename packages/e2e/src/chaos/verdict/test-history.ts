import { expect } from "@jest/globals";
import type { History, InjectedFault, ReceivedRequest, StoredDelivery } from "./history.ts";
import { type Findings, reconcile } from "./reconcile.ts";

export const T0 = Date.parse("2026-03-01T12:00:00Z");

/** One event for one endpoint, delivered by its first attempt; each test changes what it is about. */
export function goodRun(): History {
  return {
    events: [
      { id: "event-1", organizationId: "org", type: "RiskCreated", bodyHash: "hash-1", confirmed: true },
      { id: "event-2", organizationId: "other", type: "RiskCreated", bodyHash: "hash-2", confirmed: true },
      { id: "event-3", organizationId: "org", type: "Unknown", bodyHash: "hash-3", confirmed: true },
      { id: "event-4", organizationId: "org", type: "RiskCreated", bodyHash: "hash-4", confirmed: false },
    ],
    manual: [],
    endpoints: [{ id: "endpoint", organizationId: "org", character: "flaky", types: ["RiskCreated"] }],
    requests: [request({})],
    deliveries: [delivery({})],
    disablings: [],
    notices: [],
    faults: [],
    standstills: [],
    ownEnds: [],
    stoodStillMs: 0,
    leftInQueues: { inbox: 0 },
    settings: { attemptTimeoutMs: 2_000, maxAttempts: 5, disableAfter: 5 },
  };
}

export function request(override: Partial<ReceivedRequest>): ReceivedRequest {
  return {
    endpointId: "endpoint",
    deliveryId: "delivery-1",
    at: T0,
    forgery: null,
    untimely: null,
    bodyHash: "hash-1",
    outcome: "accepted",
    endedAt: (override.at ?? T0) + 10,
    resetWhenReused: false,
    acceptedLate: false,
    ...override,
  };
}

export function delivery(override: Partial<StoredDelivery>): StoredDelivery {
  const { state = "succeeded", attemptCount = 1 } = override;
  return {
    id: "delivery-1",
    endpointId: "endpoint",
    eventId: "event-1",
    state,
    attemptCount,
    isDue: state === "pending",
    attempts: Array.from({ length: attemptCount }, (_, index) => ({
      number: index + 1,
      startedAt: T0 + index * 1_000,
      durationMs: 10,
      statusCode: state === "succeeded" && index === attemptCount - 1 ? 200 : 500,
      errorSummary: state === "succeeded" && index === attemptCount - 1 ? null : "receiver answered 500",
      failureKind: state === "succeeded" && index === attemptCount - 1 ? null : "http_status",
    })),
    ...override,
  };
}

export function fault(override: Partial<InjectedFault>): InjectedFault {
  return { kind: "kill", target: "dispatcher-1", from: T0 + 5, until: T0 + 500, ...override };
}

export function refusals(count: number): ReceivedRequest[] {
  return Array.from({ length: count }, (_, index) => request({ at: T0 + index * 1_000, outcome: "refused" }));
}

/** The findings that are not empty. */
export function found(run: History): Partial<Findings> {
  const { passed, findings } = reconcile(run);
  const some = Object.fromEntries(Object.entries(findings).filter(([, list]) => list.length > 0));
  expect(passed).toBe(Object.keys(some).length === 0);
  return some;
}
