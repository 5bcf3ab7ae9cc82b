import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { describe, expect, test } from "@jest/globals";
import { createMetrics } from "../metrics.ts";
import type { ReadyDelivery } from "../sql/claimed-delivery.ts";
import { createDeliver } from "./deliver.ts";
import { retrySchedule } from "./retry-schedule.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const DEADLINE_MS = 15_000;
const secrets = secretBox(newSealingKeys("test").SECRET_KEYS);

/** Delivers with a lease that ends so many milliseconds from now, and tells what was done; `nextAttemptAt` is that of each settlement. */
async function deliverWithLease(
  leaseLeftMs: number,
  statusCode = 200,
  override: Partial<ReadyDelivery> = {},
  {
    waitMs = 0,
    whose = "theirs" as "theirs" | "ours",
    retryAfterMs = null as number | null,
    /** What the endpoint is now; undefined where it is disabled. */
    current = undefined as Partial<ReadyDelivery> | undefined,
    /** How long PostgreSQL takes to say so, each time. */
    readsTakeMs = [1],
  } = {},
) {
  const seen = {
    sent: 0,
    nextAttemptAt: [] as (Date | null)[],
    kinds: [] as (string | null)[],
    unclaimedFor: [] as number[],
    quarantined: [] as string[],
    told: [] as string[],
    sentTo: [] as string[],
    settledAs: [] as bigint[],
    reads: 0,
  };
  const clock = steeredClock(NOW);
  const deliver = createDeliver({
    sender: {
      async send({ url, secret }) {
        seen.sent++;
        seen.sentTo.push(`${url} ${secret}`);
        const succeeded = statusCode === 200;
        const failureKind = succeeded ? null : ("http_status" as const);
        const answer = { statusCode, succeeded, errorSummary: null, failureKind, responseExcerpt: null };
        return { retryAfterMs, reached: true, startedAt: NOW, durationMs: 2_500, ...answer };
      },
      async close() {},
    },
    patience: {
      begin: () => waitMs,
      failed(_endpointId, { manual }) {
        seen.told.push(manual ? "failed by hand" : "failed");
        return () => void seen.told.push("settled");
      },
      succeeded() {
        seen.told.push("succeeded");
        return () => void seen.told.push("settled");
      },
    },
    outage: { judge: async () => whose },
    quarantine: {
      begin: (endpointId) => void seen.quarantined.push(`begin ${endpointId}`),
      end: (endpointId) => void seen.quarantined.push(`end ${endpointId}`),
    },
    secrets,
    schedule: retrySchedule([60_000]),
    async reconfigure(delivery) {
      const configuredAt = clock.now();
      clock.advance(readsTakeMs[seen.reads++] ?? 1);
      return current && { ...delivery, configuredAt, ...current };
    },
    settle: async ({ nextAttemptAt, failureKind, revision }) => {
      seen.settledAs.push(revision);
      seen.nextAttemptAt.push(nextAttemptAt);
      seen.kinds.push(failureKind);
    },
    unclaim: async (_delivery, delayMs) => void seen.unclaimedFor.push(delayMs),
    clock,
    deadlineMs: DEADLINE_MS,
    metrics: createMetrics(createRegistry("test")),
    log: { debug() {}, info() {}, warn() {}, error() {}, isDebug: false },
  });
  const delivery: ReadyDelivery = {
    deliveryId: "delivery",
    endpointId: "endpoint",
    organizationId: "organization",
    eventType: "RiskCreated",
    attempt: 1,
    interruptions: 0,
    claimId: "claim",
    body: "{}",
    bodyBytes: 2,
    eventKey: null,
    failures: 0,
    pausedUntil: null,
    url: "https://receiver.test/",
    sealedSecret: secrets.seal("secret", "endpoint"),
    quarantined: false,
    configuredAt: NOW,
    revision: 1n,
    traceparent: null,
    createdAt: NOW,
    leasedUntil: new Date(NOW.getTime() + leaseLeftMs),
    ...override,
  };
  await deliver(delivery);
  return seen;
}

test("a claim that leaves time for an attempt is sent and settled", async () => {
  expect(await deliverWithLease(DEADLINE_MS)).toMatchObject({ sent: 1, nextAttemptAt: [null], unclaimedFor: [] });
});

test("a claim whose lease may end during the attempt is undone, and nothing is sent", async () => {
  expect(await deliverWithLease(DEADLINE_MS - 1)).toMatchObject({ sent: 0, nextAttemptAt: [], unclaimedFor: [0] });
  expect(await deliverWithLease(-60_000)).toMatchObject({ sent: 0, nextAttemptAt: [], unclaimedFor: [0] });
});

describe("a delivery whose endpoint was read more than half a second ago", () => {
  const outdated = { configuredAt: new Date(NOW.getTime() - 501) };

  test("is sent as its endpoint is now, and settled with that revision", async () => {
    const current = { url: "https://new.test/", sealedSecret: secrets.seal("new secret", "endpoint"), revision: 2n };
    const { sentTo, settledAs } = await deliverWithLease(60_000, 200, outdated, { current });
    expect([sentTo, settledAs]).toEqual([["https://new.test/ new secret"], [2n]]);
  });

  test("is given back where its endpoint is disabled or deleted, and nothing is sent", async () => {
    expect(await deliverWithLease(60_000, 200, outdated)).toMatchObject({ sent: 0, settledAs: [], unclaimedFor: [0] });
  });

  test("is read again where the answer took that long, as long as its lease leaves time for an attempt", async () => {
    const slow = { current: {}, readsTakeMs: [501, 501, 500] };
    expect(await deliverWithLease(60_000, 200, outdated, slow)).toMatchObject({ reads: 3, sent: 1 });
    const endless = { current: {}, readsTakeMs: [501, 15_000] };
    expect(await deliverWithLease(30_000, 200, outdated, endless)).toMatchObject({
      reads: 2,
      sent: 0,
      unclaimedFor: [0],
    });
  });

  test("half a second is not more than that", async () => {
    const recent = { configuredAt: new Date(NOW.getTime() - 500) };
    expect(await deliverWithLease(60_000, 200, recent)).toMatchObject({ reads: 0, sent: 1 });
  });
});

test("§8/delays a retry is due its delay after the end of the attempt", async () => {
  const { nextAttemptAt } = await deliverWithLease(DEADLINE_MS, 500);
  expect(nextAttemptAt).toEqual([new Date(NOW.getTime() + 2_500 + 60_000)]);
});

test("a delivery that was interrupted nineteen times is sent, and one that was twenty times is given up without an attempt", async () => {
  expect(await deliverWithLease(DEADLINE_MS, 200, { interruptions: 19 })).toMatchObject({ sent: 1, kinds: [null] });
  expect(await deliverWithLease(DEADLINE_MS, 200, { interruptions: 20 })).toMatchObject({
    sent: 0,
    nextAttemptAt: [null],
    kinds: ["interrupted"],
  });
});

test("a secret that can't be opened puts its endpoint under quarantine, since the next delivery's would not open either", async () => {
  expect(await deliverWithLease(DEADLINE_MS, 200, { sealedSecret: "sealed by another key" })).toMatchObject({
    sent: 0,
    unclaimedFor: [0],
    quarantined: ["begin endpoint"],
    nextAttemptAt: [],
  });
});

test("a secret that opens again ends the quarantine", async () => {
  expect(await deliverWithLease(DEADLINE_MS, 200, { quarantined: true })).toMatchObject({
    sent: 1,
    quarantined: ["end endpoint"],
  });
});

test("a receiver that asks for it makes the wait for the retry longer", async () => {
  const asked = await deliverWithLease(DEADLINE_MS, 429, {}, { retryAfterMs: 300_000 });
  expect(asked.nextAttemptAt).toEqual([new Date(NOW.getTime() + 2_500 + 300_000)]);
});

test("a delivery that was claimed while its endpoint rests is given back until the pause is over, and a manual one is sent", async () => {
  const resting = { waitMs: 3_000 };
  expect(await deliverWithLease(DEADLINE_MS, 200, {}, resting)).toMatchObject({ sent: 0, unclaimedFor: [3_000] });
  expect(await deliverWithLease(DEADLINE_MS, 500, { manual: true }, resting)).toMatchObject({
    sent: 1,
    unclaimedFor: [],
    told: ["failed by hand", "settled"],
  });
});

test("patience hears of an attempt before it is settled, and that it is settled afterwards", async () => {
  expect((await deliverWithLease(DEADLINE_MS)).told).toEqual(["succeeded", "settled"]);
  expect((await deliverWithLease(DEADLINE_MS, 500)).told).toEqual(["failed", "settled"]);
});

test("an attempt that failed for a reason of Herald's own is given back, and nothing is recorded or counted", async () => {
  expect(await deliverWithLease(DEADLINE_MS, 500, {}, { whose: "ours" })).toMatchObject({
    sent: 1,
    nextAttemptAt: [],
    told: [],
    unclaimedFor: [1_000],
  });
});
