import { firstIdAt, timeOf } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/dev/harness/history";
import { MOST_LOCKS, MOST_LOCKS_OF_ALL, makeDays, mostLocks } from "@herald/dev/harness/locks";
import { expectWalks, tablesRead } from "@herald/dev/harness/plans";
import { insertResend } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { backfill, takeCatchUp } from "../src/sql/backfill.ts";
import { eraseEndpointPage, takeErasure } from "../src/sql/erase-endpoint.ts";
import { eraseRows, expireDue } from "../src/sql/erase-old.ts";
import { insertUndelivered } from "../src/sql/insert-undelivered.ts";
import { takeNotices } from "../src/sql/notices.ts";
import { makePartitions } from "../src/sql/partitions.ts";
import { makeResendPage, takeResend } from "../src/sql/resend-page.ts";
import { FIRST_ENDPOINT, storeEvents } from "../src/sql/store-events.ts";
import { giveBack } from "../src/sql/work.ts";
import { DAY_MS, dayOf } from "../src/tasks/partitions.ts";
import { incomingEvent } from "./given.ts";

/**
 * Each hot statement reads growing tables by the indexes that its file names, and never a whole table,
 * whatever PostgreSQL believes to be in there.
 */
// Storing the history takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 600_000, partitioned: false });

const NOW = new Date();
const LATER = new Date(NOW.getTime() + 30_000);
const PAGE = { pageSize: 1_000, now: NOW, renewedUntil: LATER };

// Ten days have partitions of their own. An empty one PostgreSQL would rightly read whole, so before and after them there is one each.
beforeAll(async () => {
  const dayAgo = (days: number) => dayOf(new Date(NOW.getTime() - days * DAY_MS));
  const begins = ["1970-01-01", ...Array.from({ length: 11 }, (_, index) => dayAgo(12 - index)), "2200-01-01"];
  for (const [index, end] of begins.slice(1).entries()) {
    await makePartitions(db.database.queries, { first: begins[index] as string, end });
  }
});

const compact = (time: Date) => dayOf(time).replaceAll("-", "");
/** The days of the partitions of a table that a statement reads. */
const daysRead = async (table: string, call: (queries: Queries) => Promise<unknown>) =>
  (await tablesRead(db.database.queries, call)).flatMap(
    (name) => new RegExp(`^${table}_(\\d{8})$`).exec(name)?.[1] ?? [],
  );

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });

  test.each([1, 250])("a fan-out of %d events walks its index", (count) =>
    expectWalks(db.database.queries, ["business_event_pkey", "delivery_pkey", "due_pkey"], (queries) => {
      const pages = Array.from({ length: count }, (_, index) => ({
        event: incomingEvent(index % 2 === 0 ? stored.organizationId : `organization-${index % 20}`, {
          occurredAt: NOW,
        }),
        afterEndpointId: FIRST_ENDPOINT,
        maxEndpoints: 20,
      }));
      // The rows of EXPLAIN are no rows of the statement.
      return storeEvents(queries, pages, NOW).catch(() => undefined);
    }),
  );

  const work = () => ({ endpointId: stored.endpointIds[0] ?? "", leasedUntil: NOW });

  test("a page of a backfill walks its indexes, and reads no partition before its cursor", async () => {
    const after = firstIdAt(new Date(NOW.getTime() - 5 * DAY_MS));
    const page = (queries: Queries) => backfill(queries, { ...work(), after }, PAGE);
    await expectWalks(db.database.queries, ["business_event_pkey", "delivery_pkey"], page);
    const days = await daysRead("business_event", page);
    expect(days.length).toBeGreaterThan(0);
    for (const day of days) expect(day >= compact(timeOf(after))).toBe(true);
  });

  test("a page of a resend walks its indexes, and reads no partition outside its range", async () => {
    const endpointId = stored.endpointIds[0] ?? "";
    const beginId = firstIdAt(new Date(NOW.getTime() - 5 * DAY_MS));
    const endpoint = { id: endpointId, organizationId: stored.organizationId };
    const { id } = await insertResend(db.database.prisma, endpoint, { startedAt: NOW, beginId, endId: firstIdAt(NOW) });
    const taken = { id, endpointId, organizationId: stored.organizationId, leasedUntil: NOW };
    const bounds = { pageSize: 500, maxWaiting: 50, now: NOW, restMs: 500 };
    const page = (queries: Queries) => makeResendPage(queries, taken, bounds);
    const ofDeliveries = ["delivery_endpoint_id_id_idx", "delivery_endpoint_id_resend_of_idx", "delivery_pkey"];
    await expectWalks(db.database.queries, [...ofDeliveries, "due_pkey", "business_event_pkey"], page);
    for (const day of await daysRead("delivery", page)) expect(day >= compact(timeOf(beginId))).toBe(true);
  });

  test("a page of an erasure walks its indexes", () =>
    expectWalks(
      db.database.queries,
      ["delivery_endpoint_id_id_idx", "delivery_pkey", "delivery_attempt_pkey", "due_pkey", "endpoint_hour_pkey"],
      (queries) => eraseEndpointPage(queries, work(), PAGE),
    ));

  test("unfinished deliveries expire by their indexes, and in the partitions that are too old", async () => {
    const page = { after: null, endedBefore: new Date(NOW.getTime() - 4 * DAY_MS), pageSize: 1_000 };
    const expire = (queries: Queries) => expireDue(queries, page);
    await expectWalks(db.database.queries, ["due_pkey", "delivery_pkey"], expire);
    for (const day of await daysRead("delivery", expire)) expect(day <= compact(page.endedBefore)).toBe(true);
  });

  test("writing down what is not taken, and erasing what is old of it and of rates, walks its indexes", () =>
    expectWalks(db.database.queries, ["undelivered_event_came_at_idx", "endpoint_hour_hour_idx"], async (queries) => {
      const event = { cause: "unknown_type", organizationId: "acme", eventType: "RiskCreatd", reason: "none" } as const;
      await insertUndelivered(queries, [{ ...event, eventId: stored.endpointIds[0] ?? null }], NOW);
      await eraseRows(queries, "undelivered_event", { before: NOW, pageSize: 1_000 });
      await eraseRows(queries, "endpoint_hour", { before: NOW, pageSize: 1_000 });
    }));

  test("taking and giving back a catch-up, an erasure or a resend, taking notices, and erasing resends walks no growing table", () =>
    expectWalks(db.database.queries, [], async (queries) => {
      await takeCatchUp(queries, { now: NOW, leasedUntil: LATER });
      await takeErasure(queries, { now: NOW, leasedUntil: LATER });
      await takeResend(queries, { now: NOW, leasedUntil: LATER });
      await eraseRows(queries, "resend", { before: NOW, pageSize: 1_000 });
      await giveBack(queries, "catch_up", work(), NOW);
      await giveBack(queries, "erasure", work(), NOW);
      // The rows of EXPLAIN are no rows of the statement.
      await takeNotices(queries, { now: NOW, leasedUntil: LATER, limit: 100 }).catch(() => undefined);
    }));
});

describe("with 40 days of history", () => {
  const days = useDatabase({ statementTimeoutMs: 600_000, partitioned: false });
  let stored: StoredHistory;
  beforeAll(async () => {
    await makeDays(days.database.queries);
    stored = await storeHistory(days.database.prisma, "of a backlog");
    await days.database.prisma.notice.create({
      data: {
        type: "failing",
        organizationId: stored.organizationId,
        endpointId: stored.endpointIds[0] ?? "",
        endpointName: "n",
        endpointUrl: "https://receiver.test",
        failureRun: stored.deliveryIds.slice(0, 5).map((id) => `${id}/1`),
        occurredAt: NOW,
        publishAt: NOW,
      },
    });
  });
  const work = () => ({ endpointId: stored.endpointIds[0] ?? "", leasedUntil: NOW });
  const daysAgo = (count: number) => firstIdAt(new Date(NOW.getTime() - count * DAY_MS));
  const page = () => ({
    event: incomingEvent(stored.organizationId, { occurredAt: NOW }),
    afterEndpointId: FIRST_ENDPOINT,
    maxEndpoints: 20,
  });

  const hot: [string, (queries: Queries) => Promise<unknown>][] = [
    ["a fan-out of 250 events", (queries) => storeEvents(queries, Array.from({ length: 250 }, page), NOW)],
    ["taking notices", (queries) => takeNotices(queries, { now: NOW, leasedUntil: LATER, limit: 100 })],
    ["taking a catch-up", (queries) => takeCatchUp(queries, { now: NOW, leasedUntil: LATER })],
    ["the daily page of a catch-up", (queries) => backfill(queries, { ...work(), after: daysAgo(1) }, PAGE)],
    ["taking a resend", (queries) => takeResend(queries, { now: NOW, leasedUntil: LATER })],
    [
      "expiring deliveries",
      (queries) => expireDue(queries, { after: null, endedBefore: timeOf(daysAgo(30)), pageSize: 1_000 }),
    ],
  ];
  const ofAll: typeof hot = [
    ["a page of an erasure", (queries) => eraseEndpointPage(queries, work(), PAGE)],
    [
      "a page of a resend",
      (queries) =>
        makeResendPage(
          queries,
          { ...work(), id: stored.deliveryIds[0] ?? "", organizationId: stored.organizationId },
          { pageSize: 500, maxWaiting: 50, now: NOW, restMs: 500 },
        ),
    ],
  ];

  test.each([
    ...hot.map((row) => [...row, MOST_LOCKS] as const),
    ...ofAll.map((row) => [...row, MOST_LOCKS_OF_ALL] as const),
  ])("%s holds a bounded number of locks", async (_name, call, most) => {
    expect(await mostLocks(days, call)).toBeLessThanOrEqual(most);
  });
});
