import { randomUUID } from "node:crypto";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/testkit/harness/history";
import { expectWalks } from "@herald/testkit/harness/plans";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeAll, describe, test } from "@jest/globals";
import { backfill } from "../src/sql/backfill.ts";
import { storeEvents } from "../src/sql/store-events.ts";
import { finishCatchUp, takeCatchUp } from "../src/sql/take-catch-up.ts";
import { unpark } from "../src/sql/unpark.ts";

/**
 * What each hot statement reads of the tables that grow: the indexes that its file names, and never a whole table,
 * whatever PostgreSQL believes to be in there.
 */
// Storing the history takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 600_000 });

const NOW = new Date();
const LATER = new Date(NOW.getTime() + 30_000);
const WINDOW_START = new Date(NOW.getTime() - 7 * 24 * 60 * 60_000);

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });

  test.each([1, 250])("a fan-out of %d events walks its index", (count) =>
    expectWalks(db.database.queries, ["delivery_endpoint_id_business_event_id_key"], (queries) =>
      storeEvents(
        queries,
        Array.from({ length: count }, (_, index) => ({
          organizationId: index % 2 === 0 ? stored.organizationId : `organization-${index % 20}`,
          id: randomUUID(),
          type: "WorkItemCompleted" as const,
          occurredAt: NOW,
          body: "{}",
          traceparent: null,
        })),
        { now: NOW, windowStart: WINDOW_START, hintGraceUntil: LATER },
      ),
    ),
  );

  test("a page of a backfill walks its indexes", () =>
    expectWalks(
      db.database.queries,
      ["business_event_organization_id_occurred_at_id_idx", "delivery_endpoint_id_business_event_id_key"],
      (queries) =>
        backfill(queries, {
          endpointId: stored.endpointIds[0] ?? "",
          after: null,
          windowStart: WINDOW_START,
          now: NOW,
          pageSize: 1_000,
        }),
    ));

  test("unparking walks its indexes", () =>
    expectWalks(db.database.queries, ["delivery_parked", "delivery_pkey"], (queries) =>
      unpark(queries, { endpointId: stored.endpointIds[0] ?? "", now: NOW, pageSize: 1_000 }),
    ));

  test("taking and finishing a catch-up walks no growing table", () =>
    expectWalks(db.database.queries, [], async (queries) => {
      await takeCatchUp(queries, { now: NOW, leasedUntil: LATER });
      const endpoint = { endpointId: stored.endpointIds[0] ?? "", organizationId: stored.organizationId };
      await finishCatchUp(queries, { ...endpoint, leasedUntil: LATER }, { now: NOW, nextAt: LATER });
    }));
});
