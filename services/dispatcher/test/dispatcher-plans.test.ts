import type { Queries } from "@herald/common/database/queries";
import { shardOf } from "@herald/common/database/shards";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/dev/harness/history";
import { MOST_LOCKS, makeDays, mostLocks } from "@herald/dev/harness/locks";
import { expectWalks } from "@herald/dev/harness/plans";
import { answered } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { describeDeliveries } from "../src/sql/describe-deliveries.ts";
import { writeRates } from "../src/sql/endpoint-health.ts";
import { BEGINNING, findEndpointsWithWork, markInterrupted, readDue, readDueRow } from "../src/sql/read-due.ts";
import { recordArrived } from "../src/sql/record-arrived.ts";
import { settle } from "../src/sql/settle.ts";

/**
 * Each hot statement reads growing tables by the indexes that its file names, and never a whole table,
 * whatever PostgreSQL's statistics are.
 */
// Storing the history takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 600_000 });

const NOW = new Date();
const LATER = new Date(NOW.getTime() + 30_000);
const EPOCH = 0;
const DUE = ["due_pkey"];
/** The indexes by which the history of one partition is read. */
const HISTORY = ["business_event_pkey", "delivery_pkey"];

/** Statements that find these rows, and then nothing: a plan is no row that the next statement could work with. */
function finding(queries: Queries, rows: unknown[]): Queries {
  return {
    ...queries,
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => {
      await queries.$queryRaw(strings, ...values);
      return rows.splice(0) as T;
    },
  };
}

const rowsOf = (stored: StoredHistory, count: number) =>
  stored.deliveryIds.slice(0, count).map((deliveryId, index) => ({
    deliveryId,
    endpointId: stored.endpointIds[index % stored.endpointIds.length] ?? "",
    dueAt: NOW,
    attempts: 0,
    interruptions: 0,
  }));

const settlements = (stored: StoredHistory, count: number) =>
  rowsOf(stored, count).map(({ deliveryId, endpointId }, index) => ({
    ...{ deliveryId, endpointId },
    attempt: 1 + (index % 3),
    epoch: EPOCH,
    revision: 1n,
    startedAt: NOW,
    durationMs: 5,
    ...answered(index % 2 === 0),
    nextAttemptAt: index % 2 === 0 ? null : LATER,
  }));

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });
  test.each([1, 10])("reading the backlog of %d endpoints walks its index", (count) =>
    expectWalks(db.database.queries, DUE, (queries) =>
      readDue(
        queries,
        stored.endpointIds.slice(0, count).map((endpointId) => {
          return { endpointId, shard: shardOf(endpointId), epoch: EPOCH, count: 10, after: BEGINNING };
        }),
      ),
    ),
  );

  test("reading one delivery's row walks its index", () =>
    expectWalks(db.database.queries, DUE, async (queries) => {
      for (const row of rowsOf(stored, 1)) await readDueRow(queries, { ...row, epoch: EPOCH });
    }));

  test.each([1, 250])("marking what %d endpoints may have had in flight walks its index", (count) =>
    expectWalks(db.database.queries, ["due_pkey", "delivery_pkey"], (queries) =>
      markInterrupted(finding(queries, rowsOf(stored, count)), stored.endpointIds.slice(0, count), {
        perEndpoint: 10,
        now: NOW,
      }),
    ),
  );

  test("adding to endpoints' hours walks its index", () =>
    expectWalks(db.database.queries, ["endpoint_hour_pkey"], (queries) =>
      writeRates(
        queries,
        stored.endpointIds.map((endpointId) => ({ endpointId, hour: NOW, succeeded: 1, failed: 0, durations: [1] })),
      ),
    ));

  test("a sweep walks its index, endpoint by endpoint", () =>
    expectWalks(db.database.queries, DUE, (queries) =>
      findEndpointsWithWork(
        queries,
        Array.from({ length: 32 }, (_, shard) => shard),
        { dueBy: NOW, latestDue: NOW },
      ),
    ));

  test.each([1, 250])("reading what %d attempts need walks its indexes", (count) =>
    expectWalks(db.database.queries, HISTORY, (queries) =>
      describeDeliveries(finding(queries, []), rowsOf(stored, count)),
    ),
  );

  test.each([1, 250])("a settlement of %d attempts walks its indexes", (count) =>
    expectWalks(db.database.queries, ["due_pkey", "delivery_pkey", "delivery_attempt_pkey"], (queries) =>
      settle(queries, settlements(stored, count)),
    ),
  );
});

describe("with 40 days of history", () => {
  const days = useDatabase({ statementTimeoutMs: 600_000, partitioned: false });
  let stored: StoredHistory;
  beforeAll(async () => {
    await makeDays(days.database.queries);
    stored = await storeHistory(days.database.prisma, "of a backlog");
  });

  test.each<[string, (queries: Queries) => Promise<unknown>]>([
    ["a settlement of one attempt", (queries) => settle(queries, settlements(stored, 1))],
    ["a settlement of 250 attempts", (queries) => settle(queries, settlements(stored, 250))],
    ["reading what 250 attempts need", (queries) => describeDeliveries(queries, rowsOf(stored, 250))],
    [
      "recording 250 that were handed over",
      (queries) =>
        recordArrived(
          queries,
          settlements(stored, 250).map((each) => ({
            ...each,
            unstored: {
              createdAt: NOW,
              organizationId: stored.organizationId,
              eventKey: each.deliveryId,
              eventType: "WorkItemCompleted",
            },
          })),
        ),
    ],
    [
      "marking what 250 endpoints may have had in flight",
      (queries) =>
        markInterrupted(finding(queries, rowsOf(stored, 250)), stored.endpointIds, { perEndpoint: 10, now: NOW }),
    ],
    ["a sweep", (queries) => findEndpointsWithWork(queries, [1, 2], { dueBy: NOW, latestDue: NOW })],
    [
      "an endpoint's health",
      (queries) =>
        writeRates(queries, [
          { endpointId: stored.endpointIds[0] ?? "", hour: NOW, succeeded: 1, failed: 0, durations: [1] },
        ]),
    ],
  ])("%s holds a bounded number of locks", async (_name, call) => {
    expect(await mostLocks(days, call)).toBeLessThanOrEqual(MOST_LOCKS);
  });
});
