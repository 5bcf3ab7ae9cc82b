import { type Statistics, type StoredHistory, storeHistory } from "@herald/testkit/harness/history";
import { expectWalks } from "@herald/testkit/harness/plans";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeAll, describe, test } from "@jest/globals";
import { claimHinted, claimOfEndpoints, unclaim } from "../src/sql/claim.ts";
import { findDueEndpoints } from "../src/sql/find-due-endpoints.ts";
import { park } from "../src/sql/park.ts";
import { settle } from "../src/sql/settle.ts";

/**
 * What each hot statement reads of the tables that grow: the indexes that its file names, and never a whole table,
 * whatever PostgreSQL believes to be in there.
 */
// Storing the history takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 600_000 });

const NOW = new Date();
const LATER = new Date(NOW.getTime() + 30_000);
const TIMES = { now: NOW, leasedUntil: LATER, maxAttempts: 5, hintGraceUntil: LATER };

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });

  test("a claim of hinted deliveries walks its indexes", () =>
    expectWalks(db.database.queries, ["business_event_pkey", "delivery_pkey"], (queries) =>
      claimHinted(queries, stored.deliveryIds, TIMES),
    ));

  test("a claim of one hinted delivery walks its indexes", () =>
    expectWalks(db.database.queries, ["business_event_pkey", "delivery_pkey"], (queries) =>
      claimHinted(queries, stored.deliveryIds.slice(0, 1), TIMES),
    ));

  test("a claim of endpoints' deliveries walks its indexes", () =>
    expectWalks(db.database.queries, ["business_event_pkey", "delivery_pending", "delivery_pkey"], (queries) =>
      claimOfEndpoints(
        queries,
        stored.endpointIds.map((endpointId) => ({ endpointId, count: 10 })),
        TIMES,
      ),
    ));

  test.each([1, 250])("a settlement of %d attempts walks its indexes", (count) =>
    expectWalks(db.database.queries, ["delivery_attempt_pkey", "delivery_pkey"], (queries) =>
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

  test("a due scan walks its indexes", () =>
    expectWalks(db.database.queries, ["delivery_due", "delivery_pending"], (queries) =>
      findDueEndpoints(queries, { now: NOW, after: null, limit: 50 }),
    ));

  test("parking the deliveries of disabled endpoints walks its indexes", () =>
    expectWalks(db.database.queries, ["delivery_due", "delivery_pending", "delivery_pkey"], (queries) =>
      park(queries, { endpointIds: stored.endpointIds, now: NOW, pageSize: 1_000 }),
    ));

  test("undoing a claim walks its index", () =>
    expectWalks(db.database.queries, ["delivery_pkey"], (queries) =>
      unclaim(queries, { deliveryId: stored.deliveryIds[0] ?? "", attempt: 1, dueAt: LATER }),
    ));
});
