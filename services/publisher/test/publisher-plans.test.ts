import { randomUUID } from "node:crypto";
import type { Queries } from "@herald/common/database/queries";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/testkit/harness/history";
import { plansOf } from "@herald/testkit/harness/plans";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { fillGaps } from "../src/sql/fill-gaps.ts";
import { storeEvents } from "../src/sql/store-events.ts";
import { finishCatchUp, takeCatchUp } from "../src/sql/take-catch-up.ts";
import { unpark } from "../src/sql/unpark.ts";

/**
 * What each hot statement reads of the tables that grow: the indexes that its file names, and never a whole table,
 * whatever PostgreSQL believes to be in there.
 */
const db = useDatabase();

const NOW = new Date();
const LATER = new Date(NOW.getTime() + 30_000);
const WINDOW_START = new Date(NOW.getTime() - 7 * 24 * 60 * 60_000);
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

  test.each([1, 250])("a fan-out of %d events", (count) =>
    expectWalks(["delivery_endpoint_id_business_event_id_key"], (queries) =>
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
        { now: NOW, windowStart: WINDOW_START, unhintedAt: LATER },
      ),
    ),
  );

  test("a page of a catch-up", () =>
    expectWalks(
      ["business_event_organization_id_occurred_at_id_idx", "delivery_endpoint_id_business_event_id_key"],
      (queries) =>
        fillGaps(queries, {
          endpointId: stored.endpointIds[0] ?? "",
          after: null,
          windowStart: WINDOW_START,
          now: NOW,
          pageSize: 1_000,
        }),
    ));

  test("the waking of parked deliveries", () =>
    expectWalks(["delivery_parked", "delivery_pkey"], (queries) =>
      unpark(queries, { endpointId: stored.endpointIds[0] ?? "", now: NOW, pageSize: 1_000 }),
    ));

  test("the taking and the end of a catch-up", () =>
    expectWalks([], async (queries) => {
      await takeCatchUp(queries, { now: NOW, leasedUntil: LATER });
      const endpoint = { endpointId: stored.endpointIds[0] ?? "", organizationId: stored.organizationId };
      await finishCatchUp(queries, { ...endpoint, leasedUntil: LATER }, { now: NOW, nextAt: LATER });
    }));
});
