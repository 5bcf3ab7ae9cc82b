import { randomUUID } from "node:crypto";
import { sqlStateOf } from "@herald/common/database/errors";
import type { PrismaClient } from "@herald/common/database/generated/client";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/testkit/harness/eventually";
import { insertEndpoint } from "@herald/testkit/harness/rows";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { describe, expect, test } from "@jest/globals";
import { createMetrics } from "../src/metrics.ts";
import { createSettleQueue } from "../src/settle-queue.ts";
import { DISABLE_AFTER, FAILING_AFTER, NOW, RETRY_AT, settlement, settling } from "./settling.ts";

const db = useDatabase();
const { claimedDelivery, settleAll, settleRun } = settling(db);

const deliveryOf = (id: string) =>
  db.database.prisma.delivery.findUniqueOrThrow({ where: { id }, include: { attempts: true } });
const endpointOf = (id: string) => db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

describe("a settled delivery", () => {
  test("§3.2/succeeded a delivery succeeds with a 2xx", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id } = await claimedDelivery(endpoint);
    await settleAll([settlement(endpoint, id, { responseExcerpt: "thanks" })]);
    expect(await deliveryOf(id)).toMatchObject({
      state: "succeeded",
      inFlight: false,
      nextAttemptAt: null,
      statusCode: 204,
      errorSummary: null,
      failureKind: null,
      attemptedAt: NOW,
      attempts: [{ number: 1, startedAt: NOW, durationMs: 12, statusCode: 204, responseExcerpt: "thanks" }],
    });
  });

  test("§3.2/retry a delivery waits for its retry after a failure", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id } = await claimedDelivery(endpoint);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await settleAll([settlement(endpoint, id, { succeeded: false, traceparent })]);
    expect(await deliveryOf(id)).toMatchObject({
      state: "pending",
      inFlight: false,
      nextAttemptAt: RETRY_AT,
      statusCode: 500,
      errorSummary: "receiver answered 500",
      failureKind: "http_status",
      attempts: [{ failureKind: "http_status", traceparent }],
    });
  });

  test("§3.2/exhausted a delivery is exhausted after its fifth failure", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id } = await claimedDelivery(endpoint, 5);
    await settleAll([settlement(endpoint, id, { attempt: 5, succeeded: false, nextAttemptAt: null })]);
    expect(await deliveryOf(id)).toMatchObject({ state: "exhausted", nextAttemptAt: null, attemptCount: 5 });
  });

  test("a delivery keeps its newer claim when an older failure comes late", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id, nextAttemptAt } = await claimedDelivery(endpoint, 2);
    await settleAll([settlement(endpoint, id, { attempt: 1, succeeded: false })]);
    expect(await deliveryOf(id)).toMatchObject({
      state: "pending",
      inFlight: true,
      nextAttemptAt,
      attempts: [{ number: 1, statusCode: 500 }],
    });
  });

  test("a delivery succeeds by a late success, whose attempt had been recorded as interrupted", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id } = await claimedDelivery(endpoint, 2);
    await db.database.prisma.deliveryAttempt.create({
      data: {
        deliveryId: id,
        number: 1,
        startedAt: NOW,
        durationMs: 0,
        statusCode: 503,
        errorSummary: "interrupted",
        failureKind: "interrupted",
      },
    });
    await settleAll([settlement(endpoint, id, { attempt: 1 })]);
    await settleAll([settlement(endpoint, id, { attempt: 2, succeeded: false })]);
    const delivery = await deliveryOf(id);
    expect(delivery).toMatchObject({ state: "succeeded", statusCode: 204 });
    expect(delivery.attempts.map(({ number, statusCode }) => [number, statusCode]).sort()).toEqual([
      [1, 204],
      [2, 500],
    ]);
  });

  test("a delivery that was deleted meanwhile is skipped, and the others of its batch are settled", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id } = await claimedDelivery(endpoint);
    const gone = await insertEndpoint(db.database.prisma);
    await db.database.prisma.webhookEndpoint.delete({ where: { id: gone.id } });
    await settleAll([settlement(gone, randomUUID(), { succeeded: false }), settlement(endpoint, id)]);
    expect((await deliveryOf(id)).state).toBe("succeeded");
  });
});

describe("settlements whose answer was lost, and which are made once more", () => {
  test("settlements that are repeated count each failed attempt once: three do not disable an endpoint as six", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const { settlements } = await settleRun(endpoint, [false, false, false]);
    const before = await prisma.notice.findMany({ where: { endpointId: endpoint.id } });
    await settleAll(settlements);
    await settleAll(settlements);
    expect(await endpointOf(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 3 });
    expect(await prisma.notice.findMany({ where: { endpointId: endpoint.id } })).toEqual(before);
  });

  test("settlements that are repeated undo nothing later: no success undoes a later failure, no failure a later success", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { settlements: succeeded } = await settleRun(endpoint, [true]);
    const { settlements: failed } = await settleRun(endpoint, [false, false]);
    await settleAll(succeeded);
    expect(await endpointOf(endpoint.id)).toMatchObject({ consecutiveFailures: 2 });
    await settleRun(endpoint, [true]);
    await settleAll(failed);
    expect(await endpointOf(endpoint.id)).toMatchObject({ consecutiveFailures: 0, failureRun: [] });
  });

  test("settlements that are repeated count once also while the first statement is still running", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const { id } = await claimedDelivery(endpoint);
    const settlements = [settlement(endpoint, id, { succeeded: false })];
    let both: Promise<unknown> | undefined;
    await prisma.$transaction(async (transaction) => {
      await transaction.$queryRaw`select 1 from webhook_endpoint where id = ${endpoint.id}::uuid for no key update`;
      both = Promise.all([settleAll(settlements), settleAll(settlements)]);
      await eventually(async () => expect(await statementsThatWait(prisma)).toBe(2));
    });
    await both;
    expect(await endpointOf(endpoint.id)).toMatchObject({ consecutiveFailures: 1 });
    expect((await deliveryOf(id)).attempts).toHaveLength(1);
  });

  test("a late success of an attempt that was recorded as interrupted still counts", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    await settleRun(endpoint, [false, false]);
    const { id, nextAttemptAt } = await claimedDelivery(endpoint, 2);
    await prisma.deliveryAttempt.create({
      data: { deliveryId: id, number: 1, startedAt: nextAttemptAt ?? NOW, durationMs: 0, statusCode: 503 },
    });
    await settleAll([settlement(endpoint, id)]);
    expect(await endpointOf(endpoint.id)).toMatchObject({ consecutiveFailures: 0 });
  });
});

describe("a deletion at the same time", () => {
  function queue() {
    const errors: unknown[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => errors.push(line), isDebug: false };
    const settling = createSettleQueue(
      {
        queries: db.database.queries,
        clock: steeredClock(NOW),
        metrics: createMetrics(createRegistry("test")),
        log,
        signal: new AbortController().signal,
      },
      { failingAfter: FAILING_AFTER, disableAfter: DISABLE_AFTER },
    );
    return { settling, errors };
  }

  test.each([
    ["alone", true],
    ["alone", false],
    ["in a batch", true],
    ["in a batch", false],
  ])(
    "§3.1/delete-in-flight a deleted endpoint's settlement is skipped without an error (%s, success: %s)",
    async (company, succeeded) => {
      const { prisma } = db.database;
      const { settling, errors } = queue();
      const deleted = await insertEndpoint(prisma);
      const kept = await insertEndpoint(prisma);
      const gone = await claimedDelivery(deleted);
      const other = await claimedDelivery(kept);
      let settled: Promise<unknown> | undefined;
      await prisma.$transaction(async (transaction) => {
        await transaction.webhookEndpoint.delete({ where: { id: deleted.id } });
        const first = settling(settlement(deleted, gone.id, { succeeded }));
        if (company === "alone") await new Promise((resolve) => setImmediate(resolve));
        settled = Promise.all([first, settling(settlement(kept, other.id, { succeeded }))]);
        await eventually(async () => expect(await statementsThatWait(prisma)).toBe(1));
      });
      await settled;
      expect(errors).toEqual([]);
      expect(await prisma.deliveryAttempt.count({ where: { deliveryId: gone.id } })).toBe(0);
      expect(await deliveryOf(other.id)).toMatchObject({ inFlight: false, attempts: [{ number: 1 }] });
    },
  );

  test("a deletion that locks the same deliveries in another order causes no error", async () => {
    const { prisma } = db.database;
    const { settling, errors } = queue();
    for (let round = 0; round < 8; round++) {
      const endpoint = await insertEndpoint(prisma);
      const ids: string[] = [];
      for (let index = 0; index < 30; index++) ids.push((await claimedDelivery(endpoint)).id);
      const settlements = ids
        .toReversed()
        .map((id) => settling(settlement(endpoint, id, { succeeded: round % 2 === 0 })));
      const deletion = prisma.$executeRaw`delete from webhook_endpoint where id = ${endpoint.id}::uuid`;
      // The management API makes its deletion again where PostgreSQL ended it.
      await deletion.catch((error) => expect(sqlStateOf(error)).toBe("40P01"));
      await Promise.all(settlements);
    }
    expect(errors).toEqual([]);
  });
});

/** How many statements of this test's database wait for a lock. */
async function statementsThatWait(prisma: PrismaClient): Promise<number> {
  const [row] = await prisma.$queryRaw<{ count: number }[]>`
    select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return row?.count ?? 0;
}
