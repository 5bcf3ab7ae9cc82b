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

/** Delivers with a lease that ends so many milliseconds from now, and tells what was done; `nextAttemptAt` is that of each settlement. */
async function deliverWithLease(leaseLeftMs: number, statusCode = 200) {
  const seen = { sent: 0, nextAttemptAt: [] as (Date | null)[], unclaimedFor: [] as number[] };
  const deliver = createDeliver({
    sender: {
      async send() {
        seen.sent++;
        const succeeded = statusCode === 200;
        const failureKind = succeeded ? null : ("http_status" as const);
        const answer = { statusCode, succeeded, errorSummary: null, failureKind, responseExcerpt: null };
        return { startedAt: NOW, durationMs: 2_500, ...answer };
      },
      async close() {},
    },
    slots: { ended() {} },
    secretBox: secrets,
    schedule: retrySchedule([60_000]),
    settle: async ({ nextAttemptAt }) => void seen.nextAttemptAt.push(nextAttemptAt),
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
  expect(await deliverWithLease(DEADLINE_MS)).toEqual({ sent: 1, nextAttemptAt: [null], unclaimedFor: [] });
});

test("a claim whose lease may end during the attempt is undone, and nothing is sent", async () => {
  expect(await deliverWithLease(DEADLINE_MS - 1)).toEqual({ sent: 0, nextAttemptAt: [], unclaimedFor: [0] });
  expect(await deliverWithLease(-60_000)).toEqual({ sent: 0, nextAttemptAt: [], unclaimedFor: [0] });
});

test("§8/delays a retry is due its delay after the end of the attempt", async () => {
  const { nextAttemptAt } = await deliverWithLease(DEADLINE_MS, 500);
  expect(nextAttemptAt).toEqual([new Date(NOW.getTime() + 2_500 + 60_000)]);
});
