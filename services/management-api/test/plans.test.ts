import { type Statistics, type StoredHistory, storeHistory } from "@herald/testkit/harness/history";
import { plansOf } from "@herald/testkit/harness/plans";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { endpointOverviews } from "../src/sql/endpoint-overviews.ts";
import { listEndpoints } from "../src/sql/list-endpoints.ts";

const db = useDatabase();

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });

  test("the list of endpoints reads an organization's latest deliveries by their index, and no whole table", async () => {
    const { custom, generic } = await plansOf(db.database.queries, (queries) =>
      listEndpoints(queries, stored.organizationId),
    );
    for (const plan of [custom, generic]) {
      expect(plan.wholeTables.filter((name) => name.startsWith("delivery"))).toEqual([]);
      expect(plan.indexes.filter((name) => name.startsWith("delivery"))).toEqual(["delivery_organization_id_id_idx"]);
    }
  });

  test("the overview, which every open page polls, reads deliveries by indexes only", async () => {
    const { custom, generic } = await plansOf(db.database.queries, (queries) =>
      endpointOverviews(queries, {
        organizationId: stored.organizationId,
        endpointId: null,
        since: new Date(Date.now() - 24 * 3_600_000),
        maxDeliveries: 10_000,
        maxCount: 10_000,
      }),
    );
    for (const plan of [custom, generic]) {
      expect(plan.wholeTables.filter((name) => name.startsWith("delivery"))).toEqual([]);
    }
  });
});
