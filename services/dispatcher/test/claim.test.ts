import { randomUUID } from "node:crypto";
import type { Queries } from "@herald/common/database/queries";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { idAt, insertDelivery, insertEndpoint, insertEvent, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { createClaims } from "../src/delivery/claim-queue.ts";
import { createMetrics } from "../src/metrics.ts";
import { claim } from "../src/sql/claim.ts";
import { claimInterrupted } from "../src/sql/claim-interrupted.ts";
import { claimManual } from "../src/sql/claim-manual.ts";
import type { Claim } from "../src/sql/claimed-delivery.ts";
import { findClaimed } from "../src/sql/find-claimed.ts";
import { unclaim } from "../src/sql/unclaim.ts";
import { losingAnswers } from "./settling.ts";

const db = useDatabase();
const NOW = new Date(ROW_TIME.getTime() + 10_000);
const LEASED_UNTIL = later(60_000);
const SINCE = new Date(0);

function later(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

function newClaim(now = NOW): Claim {
  return { claimId: randomUUID(), now, leasedUntil: new Date(now.getTime() + 60_000) };
}

const claimOf = (endpointId: string, count = 10, own = newClaim()) =>
  claim(db.database.queries, [{ endpointId, count, since: SINCE }], own);
const interruptedOf = (endpointId: string, now = NOW) =>
  claimInterrupted(db.database.queries, { endpointId, since: SINCE }, newClaim(now));
const dueOf = (deliveryId: string) => db.database.prisma.due.findUnique({ where: { deliveryId } });

beforeEach(async () => {
  await db.database.prisma.$executeRaw`truncate webhook_endpoint, delivery, due`;
});

describe("a claim", () => {
  test("a claim begins the lease, and returns what the attempt needs", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma, {
      revision: 3n,
      url: "https://a.test/",
      sealedSecret: "s-3",
      consecutiveFailures: 2,
      pausedUntil: LEASED_UNTIL,
    });
    const event = await insertEvent(prisma, endpoint.organizationId, {
      body: '{"z":1, "a":2}',
      traceparent: "00-trace",
    });
    const { id } = await insertDelivery(prisma, endpoint, { eventKey: event.key, attemptCount: 2 });
    const own = newClaim();
    expect(await claimOf(endpoint.id, 10, own)).toEqual([
      {
        deliveryId: id,
        endpointId: endpoint.id,
        organizationId: endpoint.organizationId,
        eventType: "WorkItemCompleted",
        attempt: 3,
        interruptions: 0,
        interrupted: false,
        configuredAt: NOW,
        body: '{"z":1, "a":2}',
        bodyBytes: 14,
        eventKey: event.key,
        failures: 2,
        pausedUntil: LEASED_UNTIL,
        url: "https://a.test/",
        sealedSecret: "s-3",
        quarantined: false,
        revision: 3n,
        traceparent: "00-trace",
        createdAt: ROW_TIME,
        claimId: own.claimId,
        leasedUntil: LEASED_UNTIL,
      },
    ]);
    expect(await dueOf(id)).toMatchObject({ dueAt: LEASED_UNTIL, claimId: own.claimId, attempts: 2, interruptions: 0 });
  });

  test("§6.3 a claim gives each endpoint its own number, oldest first, so that no backlog hides another's", async () => {
    const { prisma } = db.database;
    const large = await insertEndpoint(prisma);
    const small = await insertEndpoint(prisma);
    const oldest = await insertDelivery(prisma, large, { due: { dueAt: later(-5_000) } });
    for (let index = 0; index < 60; index++) await insertDelivery(prisma, large, { due: { dueAt: later(-1_000) } });
    const only = await insertDelivery(prisma, small, { due: { dueAt: NOW } });
    const demands = [large, small].map(({ id }) => ({ endpointId: id, count: 3, since: SINCE }));
    const ids = (await claim(db.database.queries, demands, newClaim())).map(({ deliveryId }) => deliveryId);
    expect(ids).toHaveLength(4);
    expect(ids).toContain(oldest.id);
    expect(ids).toContain(only.id);
  });

  test("a claim takes no retry before its time, nothing that is leased, and nothing from before its lower bound", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const due = await insertDelivery(prisma, endpoint, { due: { dueAt: NOW } });
    await insertDelivery(prisma, endpoint, { attemptCount: 1, due: { dueAt: later(1) } });
    await insertDelivery(prisma, endpoint, { due: { dueAt: later(5_000), claimId: randomUUID() } });
    await insertDelivery(prisma, endpoint, { due: { dueAt: later(-2) } });
    const demand = { endpointId: endpoint.id, count: 10, since: later(-1) };
    const claimed = await claim(db.database.queries, [demand], newClaim());
    expect(claimed.map(({ deliveryId }) => deliveryId)).toEqual([due.id]);
  });

  test("a claim leaves a manual delivery, which is due half a minute later, to its request", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const due = await insertDelivery(prisma, endpoint, { due: { dueAt: later(0) } });
    await insertDelivery(prisma, endpoint, { due: { dueAt: later(1) } });
    expect(await claimOf(endpoint.id)).toMatchObject([{ deliveryId: due.id }]);
  });

  test("a claim leaves a delivery that is leased to its hint until the lease ends, which is no interruption", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const id = idAt(ROW_TIME);
    await insertDelivery(prisma, endpoint, { id, due: { dueAt: later(1), claimId: id } });
    expect(await claimOf(endpoint.id)).toEqual([]);
    expect(await interruptedOf(endpoint.id, later(1))).toBeUndefined();
    expect(await claimOf(endpoint.id, 1, newClaim(later(1)))).toMatchObject([{ deliveryId: id, interruptions: 0 }]);
  });

  test("twenty claims at once give each delivery to one of them", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const ids: string[] = [];
    for (let index = 0; index < 30; index++) ids.push((await insertDelivery(prisma, endpoint)).id);
    const claims = await Promise.all(Array.from({ length: 20 }, () => claimOf(endpoint.id, 30)));
    const claimed = claims.flat().map(({ deliveryId }) => deliveryId);
    expect(claimed.sort()).toEqual(ids.toSorted());
  });

  test("§3.1/pause a claim leaves the deliveries of a disabled endpoint as they are, and takes them once it is enabled", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma, { enabled: false });
    const { id } = await insertDelivery(prisma, endpoint, { attemptCount: 2 });
    const before = await dueOf(id);
    expect(await claimOf(endpoint.id)).toEqual([]);
    expect(await claimManual(db.database.queries, id, newClaim())).toBeUndefined();
    expect(await dueOf(id)).toEqual(before);
    await prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { enabled: true } });
    expect(await claimOf(endpoint.id)).toMatchObject([{ deliveryId: id, attempt: 3 }]);
  });

  test("a claim whose attempt could not begin is undone, and counts neither as an attempt nor as an interruption", async () => {
    const { prisma, queries } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const { id } = await insertDelivery(prisma, endpoint);
    const own = newClaim();
    await claimOf(endpoint.id, 1, own);
    await unclaim(queries, [{ deliveryId: id, claimId: randomUUID(), dueAt: later(1) }]);
    expect(await dueOf(id)).toMatchObject({ claimId: own.claimId });
    await unclaim(queries, [{ deliveryId: id, claimId: own.claimId, dueAt: later(1) }]);
    expect(await dueOf(id)).toMatchObject({ claimId: null, dueAt: later(1), attempts: 0, interruptions: 0 });
    expect(await claimOf(endpoint.id, 1, newClaim(later(1)))).toMatchObject([{ attempt: 1, interruptions: 0 }]);
  });

  test("a claim deletes a due row whose delivery is gone, and takes the others", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const gone = await insertDelivery(prisma, endpoint);
    const kept = await insertDelivery(prisma, endpoint);
    await prisma.delivery.deleteMany({ where: { id: gone.id } });
    expect(await claimOf(endpoint.id)).toMatchObject([{ deliveryId: kept.id }]);
    expect(await dueOf(gone.id)).toBeNull();
  });
});

describe("a claim of a manual delivery", () => {
  test("a manual delivery is claimed before its due time, once", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id } = await insertDelivery(db.database.prisma, endpoint, { due: { dueAt: later(30_000) } });
    const { queries } = db.database;
    expect(await claimManual(queries, id, newClaim())).toMatchObject({ deliveryId: id, attempt: 1, body: "{}" });
    expect(await claimManual(queries, id, newClaim())).toBeUndefined();
  });

  test("a manual delivery that is gone is not claimed", async () => {
    expect(await claimManual(db.database.queries, randomUUID(), newClaim())).toBeUndefined();
  });
});

describe("interrupted deliveries", () => {
  /** Deliveries whose dispatcher died, again by default: their leases ran out at these times before now. */
  async function interrupted(
    endpoint: Awaited<ReturnType<typeof insertEndpoint>>,
    agoMs: readonly number[],
    interruptions = 1,
  ) {
    const ids = [];
    for (const ago of agoMs) {
      const due = { dueAt: later(-ago), claimId: randomUUID(), interruptions };
      ids.push((await insertDelivery(db.database.prisma, endpoint, { due })).id);
    }
    return ids;
  }

  test("deliveries that were interrupted once come back together, as any others", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const ids = await interrupted(endpoint, [3_000, 2_000, 1_000], 0);
    expect(await interruptedOf(endpoint.id)).toBeUndefined();
    const claimed = await claimOf(endpoint.id);
    expect(claimed.map(({ deliveryId }) => deliveryId).sort()).toEqual(ids.sort());
    for (const each of claimed) expect(each).toMatchObject({ attempt: 1, interruptions: 1, interrupted: true });
  });

  test("deliveries that were interrupted again come back one at a time, oldest first, and the fresh ones behind them need not wait", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const ids = await interrupted(endpoint, [3_000, 2_000, 1_000]);
    const fresh = await insertDelivery(db.database.prisma, endpoint, { due: { dueAt: NOW } });
    expect(await claimOf(endpoint.id, 2)).toMatchObject([{ deliveryId: fresh.id }]);
    for (const deliveryId of ids) {
      expect(await interruptedOf(endpoint.id)).toMatchObject({ deliveryId, attempt: 1, interruptions: 2 });
    }
    expect(await interruptedOf(endpoint.id)).toBeUndefined();
  });

  test("a delivery whose dispatchers died five times has used no attempt, and counts its interruptions", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const { id } = await insertDelivery(db.database.prisma, endpoint);
    await claimOf(endpoint.id);
    let now = later(60_000);
    expect(await claimOf(endpoint.id, 10, newClaim(now))).toMatchObject([{ attempt: 1, interruptions: 1 }]);
    for (let interruptions = 2; interruptions <= 5; interruptions++) {
      now = new Date(now.getTime() + 60_000);
      expect(await claimOf(endpoint.id, 10, newClaim(now))).toEqual([]);
      expect(await interruptedOf(endpoint.id, now)).toMatchObject({ deliveryId: id, attempt: 1, interruptions });
    }
    const row = await db.database.prisma.delivery.findUniqueOrThrow({ where: { id } });
    expect(row).toMatchObject({ state: "pending", attemptCount: 0 });
  });

  test("an interrupted delivery of a disabled endpoint stays as it is", async () => {
    const endpoint = await insertEndpoint(db.database.prisma, { enabled: false });
    const [id] = (await interrupted(endpoint, [1_000])) as [string];
    const before = await dueOf(id);
    expect(await interruptedOf(endpoint.id)).toBeUndefined();
    expect(await dueOf(id)).toEqual(before);
  });

  test("ten claims of interrupted deliveries at once take each one once", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await interrupted(endpoint, [5, 4, 3]);
    const claims = await Promise.all(Array.from({ length: 10 }, () => interruptedOf(endpoint.id)));
    const claimed = claims.filter((each) => each !== undefined).map(({ deliveryId }) => deliveryId);
    expect(new Set(claimed).size).toBe(claimed.length);
  });
});

describe("a claim whose answer is lost", () => {
  function claims(queries: Queries) {
    return createClaims(
      {
        queries,
        clock: steeredClock(NOW),
        metrics: createMetrics(createRegistry("test")),
        tracing: undefined,
        log: { debug() {}, info() {}, warn() {}, error() {}, isDebug: false },
        signal: new AbortController().signal,
      },
      { leaseMs: 60_000, since: () => SINCE },
    );
  }

  test("a claim whose answer is lost finds what it took, and no delivery waits for the end of its lease", async () => {
    const { prisma, queries } = db.database;
    const endpoints = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
    for (const endpoint of endpoints) for (let index = 0; index < 5; index++) await insertDelivery(prisma, endpoint);
    const losing = losingAnswers(queries, (text) => text.includes("update due"));
    const claimed = await claims(losing).due(endpoints.map(({ id }) => ({ endpointId: id, count: 3 })));
    const taken = await prisma.due.findMany({ where: { claimId: { not: null } } });
    expect(claimed.map(({ deliveryId }) => deliveryId).sort()).toEqual(taken.map((row) => row.deliveryId).sort());
    expect(claimed).toHaveLength(6);
    for (const { attempt, interruptions } of claimed)
      expect({ attempt, interruptions }).toEqual({ attempt: 1, interruptions: 0 });
  });

  test("a claim of a manual delivery whose answer is lost finds it, and is no interruption", async () => {
    const { prisma, queries } = db.database;
    const { id: deliveryId, endpointId } = await insertDelivery(prisma, await insertEndpoint(prisma));
    const losing = losingAnswers(queries, (text) => text.includes("update due"));
    const claimed = await claims(losing).manual({ deliveryId, endpointId });
    expect(claimed).toMatchObject({ deliveryId, manual: true, attempt: 1, interruptions: 0 });
    expect(await dueOf(deliveryId)).toMatchObject({ claimId: claimed?.claimId, interruptions: 0 });
  });

  test("a claim of an interrupted delivery whose answer is lost finds it, and counts one interruption and not two", async () => {
    const { prisma, queries } = db.database;
    const due = { claimId: randomUUID(), interruptions: 1 };
    const { id: deliveryId, endpointId } = await insertDelivery(prisma, await insertEndpoint(prisma), { due });
    const losing = losingAnswers(queries, (text) => text.includes("update due"));
    expect(await claims(losing).interrupted(endpointId)).toMatchObject({ deliveryId, attempt: 1, interruptions: 2 });
    expect(await dueOf(deliveryId)).toMatchObject({ interruptions: 2 });
  });

  test("a claim that was never carried out is made again", async () => {
    const { prisma, queries } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const { id } = await insertDelivery(prisma, endpoint);
    let refusals = 2;
    const refusing: Queries = {
      ...queries,
      $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => {
        if (refusals-- > 0) throw new Error("Connection terminated");
        return await queries.$queryRaw<T>(strings, ...values);
      },
    };
    expect(await claims(refusing).due([{ endpointId: endpoint.id, count: 3 }])).toMatchObject([{ deliveryId: id }]);
  });

  test("a claim finds nothing that another claim with the same lease took", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await insertDelivery(db.database.prisma, endpoint);
    await claimOf(endpoint.id);
    expect(await findClaimed(db.database.queries, [endpoint.id], newClaim())).toEqual([]);
  });
});
