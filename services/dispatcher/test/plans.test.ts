import type { Queries } from "@herald/common/database/queries";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/testkit/harness/history";
import { plansOf } from "@herald/testkit/harness/plans";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { claimHinted, claimOfEndpoints } from "../src/sql/claim.ts";
import { findDueEndpoints } from "../src/sql/find-due-endpoints.ts";
import { park } from "../src/sql/park.ts";
import { settle } from "../src/sql/settle.ts";
import { unclaim } from "../src/sql/unclaim.ts";

/**
 * What each hot statement reads of the tables that grow: the indexes that its file names, and never a whole table,
 * whatever PostgreSQL believes to be in there.
 */
const db = useDatabase();

const NOW = new Date();
const LATER = new Date(NOW.getTime() + 30_000);
const TIMES = { now: NOW, leasedUntil: LATER, maxAttempts: 5, unhintedAt: LATER };
const OF_GROWING_TABLES = /^(delivery|business_event)/;

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });

  /** @param indexes what the plans may choose from */
  async function expectWalks(indexes: string[], call: (queries: Queries) => Promise<unknown>): Promise<void> {
    const { custom, generic } = await plansOf(db.database.queries, call);
    for (const plan of [custom, generic]) {
      expect(plan.wholeTables.filter((name) => OF_GROWING_TABLES.test(name))).toEqual([]);
      expect(indexes).toEqual(expect.arrayContaining(plan.indexes.filter((name) => OF_GROWING_TABLES.test(name))));
    }
  }

  test("a claim of hinted deliveries", () =>
    expectWalks(["business_event_pkey", "delivery_pkey"], (queries) =>
      claimHinted(queries, stored.deliveryIds, TIMES),
    ));

  test("a claim of one hinted delivery", () =>
    expectWalks(["business_event_pkey", "delivery_pkey"], (queries) =>
      claimHinted(queries, stored.deliveryIds.slice(0, 1), TIMES),
    ));

  test("a claim of endpoints' deliveries", () =>
    expectWalks(["business_event_pkey", "delivery_pending", "delivery_pkey"], (queries) =>
      claimOfEndpoints(
        queries,
        stored.endpointIds.map((endpointId) => ({ endpointId, count: 10 })),
        TIMES,
      ),
    ));

  test.each([1, 250])("a settlement of %d attempts", (count) =>
    expectWalks(["delivery_attempt_pkey", "delivery_pkey"], (queries) =>
      settle(
        queries,
        stored.deliveryIds.slice(0, count).map((deliveryId, index) => ({
          deliveryId,
          endpointId: stored.endpointIds[index % stored.endpointIds.length] ?? "",
          attempt: 1,
          revision: 1n,
          startedAt: NOW,
          durationMs: 5,
          statusCode: index % 2 === 0 ? 200 : 500,
          succeeded: index % 2 === 0,
          errorSummary: null,
          failureKind: null,
          responseExcerpt: null,
          traceparent: null,
          nextAttemptAt: index % 2 === 0 ? null : LATER,
        })),
        { now: NOW, failingAfter: 3, disableAfter: 5 },
      ),
    ),
  );

  test("a look for endpoints with due deliveries", () =>
    expectWalks(["delivery_due", "delivery_pending"], (queries) =>
      findDueEndpoints(queries, { now: NOW, after: null, limit: 50 }),
    ));

  test("a parking of disabled endpoints' deliveries", () =>
    expectWalks(["delivery_due", "delivery_pending", "delivery_pkey"], (queries) =>
      park(queries, { endpointIds: stored.endpointIds, now: NOW, pageSize: 1_000 }),
    ));

  test("an undone claim", () =>
    expectWalks(["delivery_pkey"], (queries) =>
      unclaim(queries, { deliveryId: stored.deliveryIds[0] ?? "", attempt: 1, dueAt: LATER }),
    ));
});
