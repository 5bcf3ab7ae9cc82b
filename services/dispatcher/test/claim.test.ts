import { insertDelivery, insertEndpoint, insertEvent, ROW_TIME } from "@herald/testkit/harness/rows";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type ClaimTimes, claimHinted, claimOfEndpoints, unclaim } from "../src/sql/claim.ts";
import { findDueEndpoints } from "../src/sql/find-due-endpoints.ts";
import { park } from "../src/sql/park.ts";

const db = useDatabase();
const NOW = new Date(ROW_TIME.getTime() + 10_000);
const LEASED_UNTIL = later(60_000);
const TIMES: ClaimTimes & { hintGraceUntil: Date } = {
  now: NOW,
  leasedUntil: LEASED_UNTIL,
  maxAttempts: 5,
  hintGraceUntil: later(30_000),
};

function later(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

const deliveryOf = (id: string) =>
  db.database.prisma.delivery.findUniqueOrThrow({ where: { id }, include: { attempts: true } });

beforeEach(async () => {
  await db.database.prisma.webhookEndpoint.deleteMany();
});

describe("a claim", () => {
  test("a claim counts the attempt, begins the lease, and returns what the attempt needs", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma, { revision: 3n, url: "https://a.test/", sealedSecret: "s-3" });
    const event = await insertEvent(prisma, endpoint.organizationId, {
      body: '{"z":1, "a":2}',
      traceparent: "00-trace",
    });
    const { id } = await insertDelivery(prisma, endpoint, { businessEventId: event.id, body: null });
    expect(await claimHinted(db.database.queries, [id], TIMES)).toEqual([
      {
        deliveryId: id,
        endpointId: endpoint.id,
        organizationId: endpoint.organizationId,
        eventType: "WorkItemCompleted",
        attempt: 1,
        body: '{"z":1, "a":2}',
        url: "https://a.test/",
        sealedSecret: "s-3",
        revision: 3n,
        traceparent: "00-trace",
        createdAt: ROW_TIME,
        leasedUntil: LEASED_UNTIL,
      },
    ]);
    expect(await deliveryOf(id)).toMatchObject({ attemptCount: 1, inFlight: true, nextAttemptAt: LEASED_UNTIL });
  });

  test("a claim takes a new delivery at once, a retry at its time, and nothing that is finished", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const isNew = await insertDelivery(prisma, endpoint, { nextAttemptAt: later(30_000) });
    const due = await insertDelivery(prisma, endpoint, { attemptCount: 1, nextAttemptAt: NOW });
    const waiting = await insertDelivery(prisma, endpoint, { attemptCount: 1, nextAttemptAt: later(1) });
    const succeeded = await insertDelivery(prisma, endpoint, { state: "succeeded", nextAttemptAt: null });
    const exhausted = await insertDelivery(prisma, endpoint, { state: "exhausted", nextAttemptAt: null });
    const ids = [isNew, due, waiting, succeeded, exhausted].map(({ id }) => id);
    const claimed = await claimHinted(db.database.queries, ids, TIMES);
    expect(claimed.map(({ deliveryId }) => deliveryId).sort()).toEqual([isNew.id, due.id].sort());
  });

  test("twenty claims of the same deliveries at once give each delivery to one of them", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const ids: string[] = [];
    for (let index = 0; index < 30; index++) ids.push((await insertDelivery(prisma, endpoint)).id);
    const claims = await Promise.all(Array.from({ length: 20 }, () => claimHinted(db.database.queries, ids, TIMES)));
    expect(
      claims
        .flat()
        .map(({ deliveryId }) => deliveryId)
        .sort(),
    ).toEqual(ids.toSorted());
    for (const id of ids) expect((await deliveryOf(id)).attemptCount).toBe(1);
  });

  test("§3.1/pause a claim parks the deliveries of a disabled endpoint, each with its own time", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma, { enabled: false });
    const { id } = await insertDelivery(prisma, endpoint, { attemptCount: 2 });
    expect(await claimHinted(db.database.queries, [id], TIMES)).toEqual([]);
    expect(await deliveryOf(id)).toMatchObject({
      state: "parked",
      attemptCount: 2,
      nextAttemptAt: ROW_TIME,
      inFlight: false,
    });
  });

  test("§2.2/latest §2.2/503 a claim of a delivery whose attempt was cut off records that attempt, and begins the next one", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const { id } = await insertDelivery(prisma, endpoint, { attemptCount: 1, inFlight: true, nextAttemptAt: NOW });
    expect(await claimHinted(db.database.queries, [id], TIMES)).toMatchObject([{ attempt: 2 }]);
    // It began when it was claimed: a lease before its lease ran out.
    const startedAt = later(-60_000);
    expect(await deliveryOf(id)).toMatchObject({
      attemptCount: 2,
      attemptedAt: startedAt,
      failureKind: "interrupted",
      attempts: [
        {
          startedAt,
          statusCode: 503,
          errorSummary: expect.stringContaining("interrupted"),
          failureKind: "interrupted",
        },
      ],
    });
  });

  test.each([true, false])(
    "§3.2/exhausted a claim of a delivery whose fifth attempt was cut off exhausts it (endpoint enabled: %s)",
    async (enabled) => {
      const { prisma } = db.database;
      const endpoint = await insertEndpoint(prisma, { enabled });
      const { id } = await insertDelivery(prisma, endpoint, { attemptCount: 5, inFlight: true });
      expect(await claimHinted(db.database.queries, [id], TIMES)).toEqual([]);
      expect(await deliveryOf(id)).toMatchObject({
        state: "exhausted",
        attemptCount: 5,
        nextAttemptAt: null,
        inFlight: false,
        statusCode: 503,
        errorSummary: expect.stringContaining("interrupted"),
        attempts: [{ number: 5, statusCode: 503 }],
      });
    },
  );

  test("a claim whose attempt could not begin is undone, and does not count", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const { id } = await insertDelivery(prisma, endpoint);
    await claimHinted(db.database.queries, [id], TIMES);
    await unclaim(db.database.queries, { deliveryId: id, attempt: 2, dueAt: later(1) });
    expect((await deliveryOf(id)).attemptCount).toBe(1);
    await unclaim(db.database.queries, { deliveryId: id, attempt: 1, dueAt: later(1) });
    expect(await deliveryOf(id)).toMatchObject({
      attemptCount: 0,
      inFlight: false,
      nextAttemptAt: later(1),
      attempts: [],
    });
  });
});

describe("a claim of endpoints", () => {
  test("§6.3 a claim of endpoints gives each its own number, oldest first, so that no backlog hides another's", async () => {
    const { prisma } = db.database;
    const large = await insertEndpoint(prisma);
    const small = await insertEndpoint(prisma);
    const oldest = await insertDelivery(prisma, large, { nextAttemptAt: later(-5_000) });
    for (let index = 0; index < 60; index++) await insertDelivery(prisma, large, { nextAttemptAt: later(-1_000) });
    const only = await insertDelivery(prisma, small, { nextAttemptAt: NOW });
    const demands = [large, small].map(({ id }) => ({ endpointId: id, count: 3 }));
    const claimed = (await claimOfEndpoints(db.database.queries, demands, TIMES)).map(({ deliveryId }) => deliveryId);
    expect(claimed).toHaveLength(4);
    expect(claimed).toContain(oldest.id);
    expect(claimed).toContain(only.id);
  });

  test("a claim of endpoints takes deliveries that wait for their hint, but no retry before its time and nothing that is leased", async () => {
    const { prisma } = db.database;
    const endpoint = await insertEndpoint(prisma);
    const isNew = await insertDelivery(prisma, endpoint, { nextAttemptAt: later(29_000) });
    await insertDelivery(prisma, endpoint, { attemptCount: 1, nextAttemptAt: later(1_000) });
    await insertDelivery(prisma, endpoint, { attemptCount: 1, inFlight: true, nextAttemptAt: later(20_000) });
    const claimed = await claimOfEndpoints(db.database.queries, [{ endpointId: endpoint.id, count: 10 }], TIMES);
    expect(claimed.map(({ deliveryId }) => deliveryId)).toEqual([isNew.id]);
  });
});

describe("a due scan", () => {
  async function lookThrough(limit: number) {
    const pages = [];
    let after: string | null = null;
    do {
      const page = await findDueEndpoints(db.database.queries, { now: NOW, after, limit });
      pages.push(page);
      after = page.next;
    } while (after !== null);
    return pages;
  }

  test("§6.3 §8/pass a due scan finds every endpoint with a due delivery, page by page, however large other backlogs are", async () => {
    const { prisma } = db.database;
    const due = await Promise.all(Array.from({ length: 7 }, () => insertEndpoint(prisma)));
    for (const endpoint of due) {
      for (let index = 0; index < 5; index++) await insertDelivery(prisma, endpoint);
    }
    const waiting = await insertEndpoint(prisma);
    await insertDelivery(prisma, waiting, { nextAttemptAt: later(1) });
    const disabled = await insertEndpoint(prisma, { enabled: false });
    await insertDelivery(prisma, disabled);
    for (const limit of [3, 4, 50]) {
      const pages = await lookThrough(limit);
      expect(pages.flatMap((page) => page.enabled).sort()).toEqual(due.map(({ id }) => id).sort());
      expect(pages.flatMap((page) => page.disabled)).toEqual([disabled.id]);
    }
  });

  test("a due scan ends at once where nothing is due", async () => {
    const endpoint = await insertEndpoint(db.database.prisma);
    await insertDelivery(db.database.prisma, endpoint, { nextAttemptAt: later(1) });
    expect(await lookThrough(50)).toEqual([{ enabled: [], disabled: [], next: null }]);
  });

  test("parking takes the due deliveries of disabled endpoints and no others", async () => {
    const { prisma } = db.database;
    const disabled = await insertEndpoint(prisma, { enabled: false });
    const enabled = await insertEndpoint(prisma);
    const due = await insertDelivery(prisma, disabled);
    const waiting = await insertDelivery(prisma, disabled, { nextAttemptAt: later(1) });
    const other = await insertDelivery(prisma, enabled);
    expect(await park(db.database.queries, { endpointIds: [disabled.id, enabled.id], now: NOW, pageSize: 100 })).toBe(
      1,
    );
    const states = await Promise.all([due, waiting, other].map(async ({ id }) => (await deliveryOf(id)).state));
    expect(states).toEqual(["parked", "pending", "pending"]);
  });
});
