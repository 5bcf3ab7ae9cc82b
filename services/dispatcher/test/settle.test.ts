import { randomUUID } from "node:crypto";
import { Prisma } from "@herald/common/database/generated/client";
import { eventually } from "@herald/dev/harness/eventually";
import { insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { impatient, lockWaiters, useDatabase, whileLocked } from "@herald/dev/harness/use-database";
import { describe, expect, test } from "@jest/globals";
import { startRates } from "../src/settle/rates.ts";
import { type Settlement, settle } from "../src/sql/settle.ts";
import { basics, SILENT } from "./basics.ts";
import { EARLIER, EPOCH, lockOf, losingAnswers, NOW, RETRY_AT, settlement, settling } from "./settling.ts";

const db = useDatabase();
const { underWay, dispatcher, nextStart, settleAll, endpointOf } = settling(db);

const deliveryOf = (id: string) => db.database.prisma.delivery.findUniqueOrThrow({ where: { id } });
const dueOf = (id: string) => db.database.prisma.due.findFirst({ where: { deliveryId: id } });

interface AttemptRow {
  number: number;
  startedAt: Date;
  durationMs: number;
  statusCode: number;
}
/** Every attempt that has ended, as the API reads them. */
const attemptsOf = (id: string) =>
  db.database.prisma.$queryRaw<AttemptRow[]>`
    select number, started_at as "startedAt", duration_ms as "durationMs", status_code as "statusCode"
    from attempt where delivery_id = ${id}::uuid order by number`;

/** A new endpoint, and a delivery of it whose attempt of this number is under way. */
async function begin(attempt = 1) {
  const endpoint = await insertEndpoint(db.database.prisma);
  return { endpoint, current: await underWay(endpoint, attempt) };
}

const after = (milliseconds: number) => new Date(NOW.getTime() + milliseconds);

describe("an endpoint's rates", () => {
  const hoursOf = (endpointId: string) =>
    db.database.prisma.endpointHour.findMany({ where: { endpointId }, orderBy: { hour: "asc" } });
  const hourOf = (time: Date) => new Date(Math.floor(time.getTime() / 3_600_000) * 3_600_000);

  test("an endpoint's rates are the sums of its attempts, by the hours in which they began, whichever dispatcher made them", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const nextHour = after(3_600_000);
    for (const [durationMs, succeeded, startedAt] of [
      [50, true, NOW],
      [51, true, NOW],
      [20_000, false, NOW],
      [300, true, nextHour],
    ] as const) {
      await settleAll([settlement(endpoint, await underWay(endpoint), { durationMs, succeeded, startedAt })]);
    }
    expect(await hoursOf(endpoint.id)).toEqual([
      { endpointId: endpoint.id, hour: hourOf(NOW), succeeded: 2, failed: 1, durations: [1, 1, 0, 0, 0, 0, 0, 1] },
      { endpointId: endpoint.id, hour: hourOf(nextHour), succeeded: 1, failed: 0, durations: [0, 0, 0, 1, 0, 0, 0, 0] },
    ]);
  });

  test("a result that comes too late is not counted, and nothing is written for a deleted endpoint", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { settle, writeRates } = dispatcher();
    await settle(settlement(endpoint, { ...(await underWay(endpoint)), epoch: EARLIER }, { succeeded: false }));
    const deleted = await insertEndpoint(db.database.prisma);
    await settle(settlement(deleted, await underWay(deleted)));
    await db.database.prisma.webhookEndpoint.delete({ where: { id: deleted.id } });
    await writeRates();
    expect(await hoursOf(endpoint.id)).toEqual([]);
    expect(await hoursOf(deleted.id)).toEqual([]);
  });

  test("rates that PostgreSQL does not take now are written later", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    let isDown = true;
    const warnings: unknown[] = [];
    const queries = {
      ...db.database.queries,
      async $queryRaw<T>(strings: TemplateStringsArray, ...values: unknown[]) {
        if (isDown) throw new Error("Connection terminated unexpectedly");
        return await db.database.queries.$queryRaw<T>(strings, ...values);
      },
    };
    const rates = startRates(basics({ queries, log: { ...SILENT, warn: (line) => void warnings.push(line) } }), {
      intervalMs: 5,
    });
    const attempt = { endpointId: endpoint.id, startedAt: NOW, durationMs: 70, succeeded: true };
    rates.add(attempt);
    await eventually(() => expect(warnings.length).toBeGreaterThan(1));
    rates.add(attempt);
    isDown = false;
    await rates.stop();
    expect(await hoursOf(endpoint.id)).toMatchObject([{ succeeded: 2, durations: [0, 2, 0, 0, 0, 0, 0, 0] }]);
  });
});

test("§3.2/succeeded a delivery succeeds with a 2xx, and waits for nothing any more", async () => {
  const { endpoint, current } = await begin();
  await settleAll([settlement(endpoint, current, { responseExcerpt: "thanks" })]);
  expect(await deliveryOf(current.deliveryId)).toMatchObject({
    state: "succeeded",
    attemptCount: 1,
    attemptedAt: NOW,
    durationMs: 12,
    statusCode: 204,
    errorSummary: null,
    failureKind: null,
    responseExcerpt: "thanks",
  });
  expect(await dueOf(current.deliveryId)).toBeNull();
});

test("§3.2/retry a delivery waits for its retry after a failure", async () => {
  const { endpoint, current } = await begin();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await settleAll([settlement(endpoint, current, { succeeded: false, traceparent })]);
  expect(await deliveryOf(current.deliveryId)).toMatchObject({
    state: "pending",
    attemptCount: 1,
    statusCode: 500,
    errorSummary: "receiver answered 500",
    failureKind: "http_status",
    traceparent,
  });
  expect(await dueOf(current.deliveryId)).toMatchObject({ dueAt: RETRY_AT, attempts: 1 });
});

test("§2.2/latest a delivery's latest attempt is in its row, and the one before moves to the history", async () => {
  const { endpoint, current } = await begin(2);
  await settleAll([settlement(endpoint, current)]);
  expect(await db.database.prisma.deliveryAttempt.count({ where: { deliveryId: current.deliveryId } })).toBe(1);
  expect(await attemptsOf(current.deliveryId)).toEqual([
    { number: 1, startedAt: ROW_TIME, durationMs: 7, statusCode: 502 },
    { number: 2, startedAt: NOW, durationMs: 12, statusCode: 204 },
  ]);
});

test("a failure of an owner before, which comes late, counts for nothing, and the delivery stays due", async () => {
  const { endpoint, current } = await begin();
  const { settle, health, metrics } = dispatcher();
  await settle(settlement(endpoint, { ...current, epoch: EARLIER }, { succeeded: false }));
  await health.drained();
  expect(await deliveryOf(current.deliveryId)).toMatchObject({ state: "pending", attemptCount: 0, statusCode: null });
  expect(await dueOf(current.deliveryId)).toMatchObject({ dueAt: NOW, attempts: 0 });
  expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
  expect((await metrics.resultsLate.get()).values).toMatchObject([{ value: 1 }]);
});

test("§3.2/exhausted a success that comes after the last failure leaves the delivery exhausted, at five attempts, and heals the endpoint", async () => {
  const { endpoint, current } = await begin(5);
  await settleAll([settlement(endpoint, current, { succeeded: false, nextAttemptAt: null })]);
  expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(1);
  await settleAll([settlement(endpoint, { ...current, epoch: EARLIER }, { startedAt: after(1) })]);
  expect(await deliveryOf(current.deliveryId)).toMatchObject({
    state: "exhausted",
    statusCode: 500,
    attemptCount: 5,
  });
  expect(await dueOf(current.deliveryId)).toBeNull();
  expect(await db.database.prisma.deliveryAttempt.count({ where: { deliveryId: current.deliveryId, number: 5 } })).toBe(
    0,
  );
  expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
});

test("a delivery that expired during its attempt stays expired: a failure counts for nothing, a success heals its endpoint", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, { consecutiveFailures: 1, failureRun: ["x/1"], failedAt: NOW });
  for (const succeeded of [false, true]) {
    const current = await underWay(endpoint, 2);
    // As retention does.
    await prisma.due.deleteMany({ where: { deliveryId: current.deliveryId } });
    await prisma.delivery.update({ where: { id: current.deliveryId }, data: { state: "expired" } });
    const before = await deliveryOf(current.deliveryId);
    await settleAll([settlement(endpoint, current, { succeeded, startedAt: after(1) })]);
    expect(await deliveryOf(current.deliveryId)).toEqual(before);
    expect(await dueOf(current.deliveryId)).toBeNull();
    expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(succeeded ? 0 : 1);
  }
});

test("a settlement of deliveries whose partition has been dropped since is no error, and those beside them are written", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const kept = await underWay(endpoint);
  const gone = [await underWay(endpoint, 5), await underWay(endpoint, 2), await underWay(endpoint)];
  await prisma.delivery.deleteMany({ where: { id: { in: gone.map(({ deliveryId }) => deliveryId) } } });
  const [exhausted, failed, succeeded] = gone.map((current, index) =>
    settlement(endpoint, current, { succeeded: index === 2, ...(index === 0 && { nextAttemptAt: null }) }),
  );
  const all = [exhausted, failed, succeeded].filter((each) => each !== undefined);
  await prisma.due.deleteMany({ where: { deliveryId: { in: all.map(({ deliveryId }) => deliveryId) } } });
  const { taken, late } = await settle(queries, [...all, settlement(endpoint, kept)]);
  expect([[...taken], [...late]]).toEqual([[], [exhausted, failed]]);
  expect(await deliveryOf(kept.deliveryId)).toMatchObject({ state: "succeeded" });
  expect(await prisma.exhaustion.count({ where: { endpointId: endpoint.id } })).toBe(0);
  expect(
    await prisma.deliveryAttempt.count({ where: { deliveryId: { in: all.map((each) => each.deliveryId) } } }),
  ).toBe(0);
});

test("a late success that meets another dispatcher's failure of the same delivery ends it after that, and both are in the history", async () => {
  const { prisma, queries } = db.database;
  const { settle: settleLate } = dispatcher();
  const endpoint = await insertEndpoint(prisma);
  const current = await underWay(endpoint);
  const id = current.deliveryId;
  const success = settlement(endpoint, { ...current, epoch: EARLIER }, { startedAt: after(1) });
  let settling: Promise<unknown> | undefined;
  await prisma.$transaction(async (transaction) => {
    await transaction.delivery.update({
      where: { id },
      data: { attemptCount: 1, attemptedAt: NOW, durationMs: 9, statusCode: 500, nextAttemptAt: RETRY_AT },
    });
    await transaction.due.updateMany({ where: { deliveryId: id }, data: { dueAt: RETRY_AT, attempts: 1 } });
    settling = settleLate(success);
    const none = new Set();
    expect(await settle(queries, [success])).toEqual({ taken: new Set([success]), late: none, missing: none });
  });
  expect(await settling).toBe(true);
  expect(await deliveryOf(id)).toMatchObject({ state: "succeeded", attemptCount: 2 });
  expect(await dueOf(id)).toBeNull();
  expect((await attemptsOf(id)).map(({ number, statusCode }) => [number, statusCode])).toEqual([
    [1, 500],
    [2, 204],
  ]);
});

test.each(["first", "last"])(
  "a success wins over a failure of its delivery, also if it comes %s in a batch",
  async (place) => {
    const endpoint = await insertEndpoint(db.database.prisma);
    // The success is of an owner before, and late; the failure is of the present one.
    const current = await underWay(endpoint, 5);
    const failure = settlement(endpoint, current, { succeeded: false, nextAttemptAt: null });
    const success = settlement(endpoint, { ...current, epoch: EARLIER });
    await settleAll(place === "first" ? [success, failure] : [failure, success]);
    const succeeded = { state: "succeeded", statusCode: 204, attemptCount: 5 };
    expect(await deliveryOf(current.deliveryId)).toMatchObject(succeeded);
    expect(await dueOf(current.deliveryId)).toBeNull();
  },
);

test("§3.1/delete-in-flight a delivery that was deleted meanwhile is skipped, and the others of its batch are settled", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const gone = await insertEndpoint(db.database.prisma);
  await db.database.prisma.webhookEndpoint.delete({ where: { id: gone.id } });
  const current = await underWay(endpoint);
  const deleted = { deliveryId: randomUUID(), epoch: EPOCH, attempt: 1 };
  await settleAll([settlement(gone, deleted, { succeeded: false }), settlement(endpoint, current)]);
  await settleAll([settlement(gone, deleted)]);
  expect((await deliveryOf(current.deliveryId)).state).toBe("succeeded");
  expect(await db.database.prisma.delivery.count({ where: { id: deleted.deliveryId } })).toBe(0);
});

test("settlements that are repeated count each failed attempt once: three do not disable an endpoint as six", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const begun = await Promise.all([1, 2, 3].map(() => underWay(endpoint)));
  // Every statement is carried out, and its first answer is lost: of the settlement, and of the health behind it.
  const { settle, health } = dispatcher(losingAnswers(db.database.queries, () => true));
  const failed = () => ({ succeeded: false, startedAt: nextStart() });
  await Promise.all(begun.map((current) => settle(settlement(endpoint, current, failed()))));
  await health.drained();
  expect(await endpointOf(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 3 });
  expect(await prisma.notice.count({ where: { endpointId: endpoint.id } })).toBe(1);
  for (const { deliveryId } of begun) {
    expect(await deliveryOf(deliveryId)).toMatchObject({ attemptCount: 1, statusCode: 500 });
    expect(await dueOf(deliveryId)).toMatchObject({ attempts: 1, dueAt: RETRY_AT });
  }
});

test("settlements that are repeated change no delivery: one that succeeded, was exhausted, or has failed again since", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const [succeeded, exhausted, waiting] = [
    settlement(endpoint, await underWay(endpoint)),
    settlement(endpoint, await underWay(endpoint, 5), { succeeded: false, nextAttemptAt: null }),
    settlement(endpoint, await underWay(endpoint, 2), { succeeded: false }),
  ];
  const all = [succeeded, exhausted, waiting];
  await settleAll(all);
  await db.database.prisma.due.updateMany({
    where: { deliveryId: waiting.deliveryId },
    data: { dueAt: after(200_000) },
  });
  const rows = async () =>
    Promise.all(all.map(async ({ deliveryId: id }) => [await deliveryOf(id), await dueOf(id), await attemptsOf(id)]));
  const before = await rows();
  await settleAll(all);
  expect(await rows()).toEqual(before);
});

test.each(["delivery", "due"] as const)(
  "a locked row of %s holds up the results of its endpoint, which keep their order, and no other's",
  async (table) => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const { settle, health, metrics, lines } = dispatcher();
    const failure = () => ({ succeeded: false, startedAt: nextStart() });
    const locked = settlement(endpoint, await underWay(endpoint), failure());
    const behind = settlement(endpoint, await underWay(endpoint), { startedAt: nextStart() });
    const others = await Promise.all(
      Array.from({ length: 100 }, () => begin().then(({ endpoint, current }) => settlement(endpoint, current))),
    );
    const stored: unknown[] = [];
    const settled = (each: typeof locked) => settle(each).then(() => stored.push(each));
    let all: Promise<unknown> | undefined;
    await whileLocked(db.database.prisma, lockOf[table](locked), async () => {
      const [first, ...rest] = others as [typeof locked];
      all = Promise.all([locked, behind].map(settled));
      await Promise.all(rest.map(settled));
      // A later batch finds the row locked too.
      await settled(first);
      expect(stored.length).toBe(100);
      expect(await lockWaiters(prisma)).toBe(0);
    });
    await all;
    expect(stored.slice(100)).toEqual([locked, behind]);
    await health.drained();
    expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
    for (const { deliveryId } of [locked, behind, ...others]) expect(await attemptsOf(deliveryId)).toHaveLength(1);
    expect(await dueOf(locked.deliveryId)).toMatchObject({ dueAt: RETRY_AT, attempts: 1 });
    expect((await metrics.resultsLate.get()).values).toMatchObject([{ value: 0 }]);
    expect(lines).toEqual([]);
  },
);

test.each(["delivery", "due", "delivery_attempt", "webhook_endpoint", "shard"])(
  "a locked table %s is a PostgreSQL that takes no results: the log says so once, and all are settled when it is free",
  async (table) => {
    const { settle, isWriting, failures, clock, lines } = dispatcher(impatient(db.database, 100));
    const ten = await Promise.all(Array.from({ length: 10 }, () => begin()));
    let settled: Promise<unknown> | undefined;
    await whileLocked(db.database.prisma, Prisma.raw(`lock table ${table} in access exclusive mode`), async () => {
      settled = Promise.all(ten.map(({ endpoint, current }) => settle(settlement(endpoint, current))));
      await eventually(() => expect(lines).toHaveLength(1));
      clock.advance(10_000);
      expect([isWriting(), failures.seconds() >= 10]).toEqual([false, true]);
    });
    await settled;
    expect([isWriting(), failures.seconds()]).toEqual([true, 0]);
    expect(lines).toEqual([
      "results of attempts wait for a lock or run out of time; fewer are tried at once",
      "results of attempts wait for no lock any more, and end in time",
    ]);
  },
);

test("a stop during a lock says how many results are not stored, and waits for none of them", async () => {
  const { endpoint, current } = await begin();
  const { settle, stop, lines, clock, oldestUnstoredSeconds } = dispatcher();
  const results = [settlement(endpoint, current), settlement(endpoint, await underWay(endpoint))];
  await whileLocked(db.database.prisma, lockOf.delivery(current), async () => {
    const settled = Promise.all(results.map(settle));
    const other = await begin();
    expect(await settle(settlement(other.endpoint, other.current))).toBe(true);
    clock.advance(11_000);
    expect(oldestUnstoredSeconds()).toBe(11);
    await eventually(() => expect(lines).toEqual([expect.stringContaining("another session has locked rows")]));
    stop();
    expect(await settled).toEqual([false, false]);
    expect(lines.slice(1)).toEqual(["2 results are not stored; these deliveries will be attempted again"]);
    expect(oldestUnstoredSeconds()).toBe(0);
    // One that ends even later.
    expect(await settle(results[0] as Settlement)).toBe(false);
  });
});

test("one settlement that can't be written is set aside, and the others are settled", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const { settle } = dispatcher();
  const begun = await Promise.all(Array.from({ length: 9 }, () => underWay(endpoint)));
  const outcomes = await Promise.allSettled(
    begun.map((current, index) =>
      settle(settlement(endpoint, current, index === 4 ? { responseExcerpt: "\u0000" } : {})),
    ),
  );
  expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual(begun.map((_, index) => index !== 4));
  const states = await Promise.all(begun.map(async ({ deliveryId }) => (await deliveryOf(deliveryId)).state));
  expect(states).toEqual(begun.map((_, index) => (index === 4 ? "pending" : "succeeded")));
});

test("results of 250 endpoints settle while one endpoint's row is locked, and only that endpoint's health waits", async () => {
  const { prisma } = db.database;
  const endpoints = await Promise.all(Array.from({ length: 250 }, () => insertEndpoint(prisma)));
  const [locked, flaky] = endpoints as [(typeof endpoints)[0], (typeof endpoints)[0]];
  const settlements = await Promise.all(
    endpoints.map(async (endpoint) =>
      settlement(endpoint, await underWay(endpoint), { succeeded: endpoint !== locked && endpoint !== flaky }),
    ),
  );
  const { settle, health, lines } = dispatcher();
  await whileLocked(db.database.prisma, lockOf.endpoint(locked), async () => {
    await Promise.all(settlements.map(settle));
    const ids = endpoints.map(({ id }) => id);
    expect(await prisma.delivery.count({ where: { endpointId: { in: ids }, attemptCount: 1 } })).toBe(250);
    await eventually(async () => expect((await endpointOf(flaky.id)).consecutiveFailures).toBe(1));
    expect(health.has(locked.id)).toBe(true);
    expect((await endpointOf(locked.id)).consecutiveFailures).toBe(0);
  });
  await health.drained();
  expect((await endpointOf(locked.id)).consecutiveFailures).toBe(1);
  expect(lines).toEqual([]);
});

test("four dispatchers that settle results of one flaky endpoint meet no deadlock, and none overwrites what another has written", async () => {
  const { prisma } = db.database;
  const flaky = await insertEndpoint(prisma);
  const others = await Promise.all(Array.from({ length: 10 }, () => insertEndpoint(prisma)));
  const four = Array.from({ length: 4 }, () => dispatcher());
  const deadlocks = async () => {
    await prisma.$queryRaw`select pg_stat_clear_snapshot()::text`;
    const [row] = await prisma.$queryRaw<{ deadlocks: number }[]>`
      select deadlocks::int from pg_stat_database where datname = current_database()`;
    return row?.deadlocks;
  };
  const before = await deadlocks();
  // Attempts that overlap count once, in whatever order they end. The pause is the longest that was asked for.
  let longestMs = 0;
  const failed = () => ({ succeeded: false, retryAfterMs: ++longestMs });
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      four.map(async ({ settle }) => {
        const settlements = [];
        for (let index = 0; index < 30; index++) {
          const endpoint = index % 3 === 0 ? flaky : others[index % others.length];
          if (endpoint)
            settlements.push(settlement(endpoint, await underWay(endpoint), endpoint === flaky ? failed() : {}));
        }
        await Promise.all(settlements.map(settle));
      }),
    );
  }
  await Promise.all(four.map(({ health }) => health.drained()));
  expect(longestMs).toBe(4 * 5 * 10);
  expect(await endpointOf(flaky.id)).toMatchObject({ consecutiveFailures: 1, pausedUntil: after(12 + longestMs) });
  expect(await deadlocks()).toBe(before);
  expect(four.flatMap(({ lines }) => lines)).toEqual([]);
});
