import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { headerContext, secretBox } from "@herald/common/security/secret-box";
import { answered } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { expect, test } from "@jest/globals";
import { basics } from "../../test/basics.ts";
import { Endpoint } from "../endpoint/endpoint.ts";
import { createMemory } from "../endpoint/memory.ts";
import { retrySchedule } from "../endpoint/retry-schedule.ts";
import type { Outage } from "../outage/outage.ts";
import type { SettleQueue } from "../settle/settle-queue.ts";
import type { Shards } from "../shards/shards.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import type { Settlement } from "../sql/settle.ts";
import { createMakeAttempt } from "./make-attempt.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const ID = "0190a1b2-0000-7000-8000-000000000001";
const EPOCH = 7;
const secrets = secretBox(newSealingKeys("test").SECRET_KEYS);

/** Makes one attempt, and returns what happened. */
async function makeOne({
  statusCode = 200,
  retryAfterMs = null as number | null,
  whose = "theirs" as Awaited<ReturnType<Outage["judge"]>>,
  delivery: ofDelivery = {} as Partial<Delivery>,
  configuration: ofConfiguration = {} as Partial<Configuration> | null,
  manual = false,
  epoch = EPOCH as number | null,
  isLost = false,
  failures = 0,
  isHealthKnown = true,
  stored = "{}" as string | null,
  refused = false,
  isStored = true,
} = {}) {
  const clock = steeredClock(NOW);
  const seen = { sentTo: [] as string[], settled: [] as Settlement[], calls: [] as string[] };
  const makeAttempt = createMakeAttempt({
    sender: {
      async send({ url, secret }) {
        seen.sentTo.push(`${url} ${secret}`);
        const answer = { ...answered(statusCode === 200), statusCode, retryAfterMs };
        return { reached: true, startedAt: NOW, durationMs: 2_500, ...answer };
      },
      async close() {},
    },
    ...basics({ clock }),
    outage: { isOn: () => false, judge: async () => whose } as Partial<Outage> as Outage,
    secrets: { ...secrets, doubtfulKeys: () => [] },
    schedule: retrySchedule([60_000]),
    quarantine: {
      begin: (id) => void seen.calls.push(`quarantine of ${id} begins`),
      end: (id) => void seen.calls.push(`quarantine of ${id} ends`),
    },
    shards: { epochOf: () => epoch ?? undefined } as Partial<Shards> as Shards,
    readBody: async () => (stored === null ? undefined : Buffer.from(stored)),
    failures: { count: (url, { errorSummary }) => void seen.calls.push(`${errorSummary}: ${url}`), stop() {} },
    settlements: {
      async settle(settlement, endsFailures) {
        if (refused) throw new Error("refused");
        seen.settled.push(settlement);
        if (endsFailures) seen.calls.push("ends failures");
        return isStored;
      },
    } as Partial<SettleQueue> as SettleQueue,
  });
  const memory = createMemory(0, clock.monotonicMs);
  const gate = { concurrency: 10, ratePerSecond: undefined, breaker: { pausesMs: [1_000], disableAfter: 5 } };
  const times = { nowMs: () => NOW.getTime(), isDue: () => true };
  const endpoint = new Endpoint(ID, "organization", { clock, memory, times, gate });
  const pausedUntil = failures > 0 ? new Date(NOW.getTime() + 3_000) : null;
  if (isHealthKnown) endpoint.gate.breaker.know({ failures, pausedUntil });
  const configuration: Configuration | null = ofConfiguration && {
    url: "https://receiver.test/",
    sealedSecret: secrets.seal("secret", ID),
    headers: null,
    quarantined: false,
    revision: 3n,
    failures,
    pausedUntil,
    ...ofConfiguration,
  };
  const delivery: Delivery = {
    deliveryId: "delivery",
    endpointId: ID,
    organizationId: "organization",
    eventType: "RiskCreated",
    dueAt: NOW,
    attempts: 0,
    interruptions: 0,
    body: "{}",
    bodyBytes: 2,
    eventKey: null,
    traceparent: null,
    createdAt: NOW,
    ...ofDelivery,
  };
  const outcome = await makeAttempt({
    endpoint,
    delivery,
    manual,
    keptWaiting: false,
    configuration: () => {
      if (isLost) endpoint.drop();
      endpoint.gate.breaker.know({ failures, pausedUntil });
      return configuration ?? Promise.resolve(undefined);
    },
    over: (durationMs) => void seen.calls.push(`over after ${durationMs}`),
    locked() {},
  });
  return { ...seen, outcome, isFailing: !endpoint.gate.breaker.isHealthy() };
}

test("an attempt is sent as its endpoint is configured, and settled in the epoch in which it began", async () => {
  const { sentTo, settled, outcome, calls } = await makeOne();
  expect(sentTo).toEqual(["https://receiver.test/ secret"]);
  expect(settled).toMatchObject([{ epoch: EPOCH, revision: 3n, attempt: 1, nextAttemptAt: null }]);
  expect([outcome, calls]).toEqual([{ kind: "settled", nextAttemptAt: null }, ["over after 2500"]]);
});

test("§8/delays a retry is due its delay after the end of the attempt", async () => {
  const nextAttemptAt = new Date(NOW.getTime() + 2_500 + 60_000);
  expect((await makeOne({ statusCode: 500 })).outcome).toEqual({ kind: "settled", nextAttemptAt });
});

test("a receiver that asks for it makes the wait for the retry longer", async () => {
  const { settled } = await makeOne({ statusCode: 429, retryAfterMs: 300_000 });
  expect(settled).toMatchObject([{ nextAttemptAt: new Date(NOW.getTime() + 2_500 + 300_000) }]);
});

test("the breaker knows an attempt before the receiver is free for the next one, and a success ends failures", async () => {
  expect((await makeOne({ statusCode: 500 })).isFailing).toBe(true);
  const { isFailing, calls } = await makeOne({ failures: 1, manual: true });
  expect([isFailing, calls]).toEqual([false, ["over after 2500", "ends failures"]]);
});

const RESTING = { isHealthKnown: false, failures: 2 };
test.each<[string, Parameters<typeof makeOne>[0], object]>([
  ["another dispatcher has taken the shard meanwhile", { epoch: null }, { kind: "put back", restMs: 0 }],
  ["the shard was lost and taken again meanwhile", { isLost: true }, { kind: "put back", restMs: 0 }],
  ["the endpoint's health was read only now, and it rests", RESTING, { kind: "put back" }],
  ["the endpoint is disabled or deleted", { configuration: null }, { kind: "gone" }],
  ["the body is not stored any more", { delivery: { body: null }, stored: null }, { kind: "left", forMs: 1_000 }],
])("nothing is sent if %s", async (_why, options, outcome) => {
  expect(await makeOne(options)).toMatchObject({ sentTo: [], outcome });
});

test("a manual delivery is sent even if the endpoint rests", async () => {
  expect(await makeOne({ ...RESTING, manual: true })).toMatchObject({ outcome: { kind: "settled" } });
});

test.each([
  ["ours", 1_000],
  ["a clock's", 60_000],
] as const)(
  "an attempt whose failure is %s is put back for %d ms, and nothing is recorded or counted",
  async (whose, restMs) => {
    expect(await makeOne({ statusCode: 401, whose })).toMatchObject({
      settled: [],
      isFailing: false,
      outcome: { kind: "put back", restMs },
    });
  },
);

test.each([{ refused: true }, { isStored: false }])(
  "a settlement that PostgreSQL refuses, or for which a stop does not wait, leaves its delivery to PostgreSQL: %j",
  async (options) => {
    expect((await makeOne(options)).outcome).toEqual({ kind: "left", forMs: 60_000 });
  },
);

test("a delivery that was interrupted nineteen times is sent, and one that was twenty times is given up without an attempt", async () => {
  expect((await makeOne({ delivery: { interruptions: 19 } })).sentTo).toHaveLength(1);
  const { sentTo, settled, isFailing } = await makeOne({ delivery: { interruptions: 20 } });
  expect([sentTo, isFailing]).toEqual([[], false]);
  expect(settled).toMatchObject([{ failureKind: "interrupted", nextAttemptAt: null }]);
});

test("a secret that can't be opened puts its endpoint under quarantine", async () => {
  const damaged = await makeOne({ configuration: { sealedSecret: "damaged" } });
  expect(damaged).toMatchObject({ sentTo: [], calls: [`quarantine of ${ID} begins`], settled: [] });
});
test("an own header that can't be opened, or stands under another name, puts its endpoint under quarantine as a secret does", async () => {
  const headers = { Authorization: secrets.seal("Bearer 1", headerContext(ID, "Authorization")) };
  expect((await makeOne({ configuration: { headers } })).sentTo).toHaveLength(1);
  const moved = { "X-Key": headers.Authorization };
  // The secret's own text would be sent to the receiver.
  const secret = { Authorization: secrets.seal("secret", ID) };
  for (const wrong of [{ ...headers, "X-Key": "damaged" }, moved, secret]) {
    const { sentTo, calls } = await makeOne({ configuration: { headers: wrong } });
    expect([sentTo, calls]).toEqual([[], [`quarantine of ${ID} begins`]]);
  }
});
test("a secret that opens again ends the quarantine", async () => {
  expect((await makeOne({ configuration: { quarantined: true } })).calls).toContain(`quarantine of ${ID} ends`);
});
