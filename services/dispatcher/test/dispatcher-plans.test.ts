import { randomUUID } from "node:crypto";
import type { Queries } from "@herald/common/database/queries";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/dev/harness/history";
import { expectOneProbe, expectWalks } from "@herald/dev/harness/plans";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeAll, describe, test } from "@jest/globals";
import { claim } from "../src/sql/claim.ts";
import { claimInterrupted } from "../src/sql/claim-interrupted.ts";
import { claimManual } from "../src/sql/claim-manual.ts";
import { describe as describeClaimed } from "../src/sql/claimed-delivery.ts";
import { findClaimed } from "../src/sql/find-claimed.ts";
import { findDueEndpoints } from "../src/sql/find-due-endpoints.ts";
import { handOverManual } from "../src/sql/hand-over-manual.ts";
import { readBodies } from "../src/sql/read-bodies.ts";
import { settle } from "../src/sql/settle.ts";
import { unclaim } from "../src/sql/unclaim.ts";

/**
 * What each hot statement reads of the tables that grow: the indexes that its file names, and never a whole table,
 * whatever PostgreSQL believes to be in there.
 */
// Storing the history takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 600_000 });

const NOW = new Date();
const LATER = new Date(NOW.getTime() + 30_000);
const CLAIM = { claimId: randomUUID(), now: NOW, leasedUntil: LATER };
const SINCE = new Date(0);
const DUE = ["due_pkey", "due_endpoint_id_due_at_idx"];
/** What the history of one partition is read by. */
const HISTORY = ["business_event_pkey", "delivery_pkey"];

/** Statements that find nothing: a plan is no row that the next statement could work with. */
function withoutRows(queries: Queries): Queries {
  return {
    ...queries,
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => {
      await queries.$queryRaw(strings, ...values);
      return [] as T;
    },
  };
}

describe("whether a restore holds attempts", () => {
  const ids = [randomUUID(), randomUUID()];
  const claims: [string, (queries: Queries) => Promise<unknown>][] = [
    [
      "due deliveries",
      (queries) =>
        claim(
          queries,
          ids.map((endpointId) => ({ endpointId, count: 10, since: SINCE })),
          CLAIM,
        ),
    ],
    ["a manual delivery", (queries) => claimManual(queries, randomUUID(), CLAIM)],
    [
      "an interrupted delivery",
      (queries) => claimInterrupted(queries, { endpointId: randomUUID(), since: SINCE }, CLAIM),
    ],
  ];

  test.each(claims)("a claim of %s asks it once, of one page at the most", async (_what, call) => {
    await expectOneProbe(db.database.queries, "restore", (queries) => call(withoutRows(queries)));
    // What restores have left behind when they ended makes it no dearer.
    for (let ended = 0; ended < 30; ended++) {
      await db.database.prisma.restore.create({ data: { restoredTo: NOW, begunAt: NOW } });
      await db.database.prisma.restore.deleteMany();
    }
    await expectOneProbe(db.database.queries, "restore", (queries) => call(withoutRows(queries)));
  });
});

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });
  const oneEndpoint = () => ({ endpointId: stored.endpointIds[0] ?? "", since: SINCE });

  test.each([1, 10])("a claim of %d endpoints' deliveries walks its indexes", (count) =>
    expectWalks(db.database.queries, DUE, (queries) =>
      claim(
        withoutRows(queries),
        stored.endpointIds.slice(0, count).map((endpointId) => ({ endpointId, count: 10, since: SINCE })),
        CLAIM,
      ),
    ),
  );

  test("a claim of a manual delivery walks its indexes", () =>
    expectWalks(db.database.queries, ["due_pkey"], (queries) =>
      claimManual(withoutRows(queries), stored.deliveryIds[0] ?? "", CLAIM),
    ));

  test("handing over a manual delivery walks its index", () =>
    expectWalks(db.database.queries, ["due_pkey"], (queries) =>
      handOverManual(queries, { deliveryIds: stored.deliveryIds.slice(0, 1), now: NOW }),
    ));

  test("a claim of an interrupted delivery walks its indexes", () =>
    expectWalks(db.database.queries, DUE, (queries) => claimInterrupted(withoutRows(queries), oneEndpoint(), CLAIM)));

  test("finding what a claim took walks its indexes", () =>
    expectWalks(db.database.queries, DUE, (queries) => findClaimed(withoutRows(queries), stored.endpointIds, CLAIM)));

  test.each([1, 250])("reading what %d attempts need walks its indexes", (count) =>
    expectWalks(db.database.queries, HISTORY, (queries) =>
      describeClaimed(
        withoutRows(queries),
        CLAIM,
        stored.deliveryIds.slice(0, count).map((deliveryId, index) => ({
          deliveryId,
          endpointId: stored.endpointIds[index % stored.endpointIds.length] ?? "",
          attempt: 1,
          interruptions: 0,
        })),
      ),
    ),
  );

  test.each([1, 16])("reading %d large bodies walks its indexes", async (count) => {
    const ids = stored.deliveryIds.slice(0, count);
    const ofEvents = await db.database.prisma.delivery.findMany({ where: { id: { in: ids } } });
    const sources = ofEvents.map(({ organizationId, eventKey, id }) => ({ organizationId, eventKey, deliveryId: id }));
    const ofManual = sources.map((source) => ({ ...source, eventKey: null }));
    await expectWalks(db.database.queries, HISTORY, (queries) => readBodies(queries, [...sources, ...ofManual]));
  });

  test.each([1, 250])("a settlement of %d attempts walks its indexes", (count) =>
    expectWalks(db.database.queries, ["due_pkey", "delivery_pkey", "delivery_attempt_pkey"], (queries) =>
      settle(
        queries,
        stored.deliveryIds.slice(0, count).map((deliveryId, index) => ({
          deliveryId,
          endpointId: stored.endpointIds[index % stored.endpointIds.length] ?? "",
          attempt: 1 + (index % 3),
          claimId: CLAIM.claimId,
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
          retryAfterMs: null,
          manual: false,
        })),
      ),
    ),
  );

  test("a due scan walks its index", () =>
    expectWalks(db.database.queries, ["due_endpoint_id_due_at_idx"], (queries) =>
      findDueEndpoints(queries, { now: NOW, since: SINCE, known: [oneEndpoint()], after: null, limit: 5_000 }),
    ));

  test("undoing a claim walks its index", () =>
    expectWalks(db.database.queries, ["due_pkey"], (queries) =>
      unclaim(queries, [{ deliveryId: stored.deliveryIds[0] ?? "", claimId: CLAIM.claimId, dueAt: LATER }]),
    ));
});
