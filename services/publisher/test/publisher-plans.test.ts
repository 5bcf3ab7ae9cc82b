import { randomUUID } from "node:crypto";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/testkit/harness/history";
import { expectWalks } from "@herald/testkit/harness/plans";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeAll, describe, test } from "@jest/globals";
import { backfill } from "../src/sql/backfill.ts";
import { storeEvents } from "../src/sql/store-events.ts";
import { eraseEndpointPage } from "../src/sql/erase-endpoint.ts";
import { eraseRestOfDeliveries, eraseRestOfEvents } from "../src/sql/erase-rest.ts";
import { giveBackCatchUp, takeCatchUp } from "../src/sql/take-catch-up.ts";
import { takeErasure } from "../src/sql/take-erasure.ts";
import { takeNotices } from "../src/sql/take-notices.ts";

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
    expectWalks(db.database.queries, [/^business_event_\w+_pkey$/, /^delivery_\w+_pkey$/], (queries) =>
      backfill(
        queries,
        { endpointId: stored.endpointIds[0] ?? "", leasedUntil: NOW, priority: 0, cursor: null, completeTo: null },
        { organizationId: stored.organizationId, after: firstIdAt(WINDOW_START), pageSize: 1_000 },
        { now: NOW, renewedUntil: LATER, guardAt: LATER, completeTo: NOW },
      ),
    ));
});
