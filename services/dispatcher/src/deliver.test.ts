import { secretBox } from "@herald/common/security/secret-box";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { expect, test } from "@jest/globals";
import { createDeliver } from "./deliver.ts";
import { createMetrics } from "./metrics.ts";
import { retrySchedule } from "./retry-schedule.ts";
import type { ClaimedDelivery } from "./sql/claim.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const DEADLINE_MS = 15_000;
const secrets = secretBox(`test:${Buffer.alloc(32).toString("base64")}`);

/** What became of a delivery whose lease ends so many milliseconds from now. */
async function deliverWithLease(leaseLeftMs: number) {
  const seen = { sent: 0, settled: 0, unclaimedFor: [] as number[] };
  const deliver = createDeliver({
    sender: {
      async send() {
        seen.sent++;
        const answer = {
          statusCode: 200,
          succeeded: true,
          errorSummary: null,
          failureKind: null,
          responseExcerpt: null,
        };
        return { startedAt: NOW, durationMs: 1, ...answer };
      },
      async close() {},
    },
    slots: { ended() {} },
    secretBox: secrets,
    schedule: retrySchedule([]),
    settle: async () => void seen.settled++,
    unclaim: async (_delivery, delayMs) => void seen.unclaimedFor.push(delayMs),
    clock: steeredClock(NOW),
    deadlineMs: DEADLINE_MS,
    metrics: createMetrics(createRegistry("test")),
    log: { debug() {}, info() {}, warn() {}, error() {}, isDebug: false },
  });
  const delivery: ClaimedDelivery = {
    deliveryId: "delivery",
    endpointId: "endpoint",
    organizationId: "organization",
    eventType: "RiskCreated",
    attempt: 1,
    body: "{}",
    url: "https://receiver.test/",
    sealedSecret: secrets.seal("secret", "endpoint"),
    revision: 1n,
    traceparent: null,
    createdAt: NOW,
    leasedUntil: new Date(NOW.getTime() + leaseLeftMs),
  };
  await deliver(delivery);
  return seen;
}

test("a claim that leaves time for an attempt is sent and settled", async () => {
  expect(await deliverWithLease(DEADLINE_MS)).toEqual({ sent: 1, settled: 1, unclaimedFor: [] });
});

test("a claim whose answer took so long that another dispatcher may claim it meanwhile is given back, and not sent", async () => {
  expect(await deliverWithLease(DEADLINE_MS - 1)).toEqual({ sent: 0, settled: 0, unclaimedFor: [0] });
  expect(await deliverWithLease(-60_000)).toEqual({ sent: 0, settled: 0, unclaimedFor: [0] });
});
