import { deliveryId, firstIdAt, timeOf } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import { deliveriesAtEndpoints, findDelivery } from "@herald/common/history/sql/deliveries";
import { eventKeys, readEvents, undeliveredEvents } from "@herald/common/history/sql/events";
import { failedAttempts } from "@herald/common/history/sql/failed-attempts";
import { type Statistics, type StoredHistory, storeHistory } from "@herald/dev/harness/history";
import { MOST_LOCKS, MOST_LOCKS_OF_ALL, makeDays, mostLocks } from "@herald/dev/harness/locks";
import { expectWalks, pagesRead, tablesRead } from "@herald/dev/harness/plans";
import { insertDelivery, insertEndpoint, insertResend } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { MAX_SCANNED, MAX_SCANNED_OF_ALL } from "../src/deliveries/history.ts";
import { MAX_EVENTS, ofAll, ofOne } from "../src/endpoints/overview.ts";
import { deliveryDetails, deliverySummary, recentDeliveries } from "../src/sql/delivery-details.ts";
import { deliveryHistory, type HistoryQuery } from "../src/sql/delivery-history.ts";
import { endpointRates, missedEvents } from "../src/sql/endpoint-details.ts";
import { endpointOverviews, listEndpoints } from "../src/sql/endpoint-overviews.ts";
import { previewResend } from "../src/sql/preview-resend.ts";
import { readResends } from "../src/sql/resends.ts";
import { storeMany } from "./support/deliveries.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// One statement stores the history, which takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 170_000 });
const now = new Date();
const hours = Array.from({ length: 24 }, (_, index) => new Date(now.getTime() - (24 - index) * HOUR_MS));

type Call = (queries: Queries, stored: StoredHistory) => Promise<unknown>;

const one = (stored: StoredHistory) => ({
  organizationId: stored.organizationId,
  endpointId: stored.endpointIds[0] ?? "",
  now,
});
const rates: Call = (queries, stored) =>
  endpointRates(queries, { id: stored.endpointIds[0] ?? "", organizationId: stored.organizationId }, [
    new Date(now.getTime() - 30 * DAY_MS),
    ...hours,
  ]);
const list: Call = (queries, stored) => listEndpoints(queries, { organizationId: stored.organizationId, now });
const recent: Call = (queries, stored) => recentDeliveries(queries, one(stored));
const overview =
  (forAll: boolean): Call =>
  (queries, stored) =>
    endpointOverviews(queries, {
      ...one(stored),
      ...(forAll && { endpointId: null }),
      hours,
      ...(forAll ? ofAll : ofOne),
    });
const historyOf = (stored: StoredHistory): HistoryQuery => ({
  ...one(stored),
  among: null,
  olderThan: null,
  outcomes: ["failing"],
  eventTypes: [],
  statusCodes: [],
  from: null,
  to: null,
  firstId: null,
  endId: null,
  limit: 50,
  maxScanned: MAX_SCANNED,
});
const history: Call = (queries, stored) => deliveryHistory(queries, historyOf(stored));
const details: Call = (queries, stored) =>
  deliveryDetails(queries, { ...one(stored), id: stored.deliveryIds[0] ?? "" });
const summary: Call = (queries, stored) =>
  deliverySummary(queries, { ...one(stored), id: stored.deliveryIds[0] ?? "" });
const failures: Call = (queries, stored) => failedAttempts(queries, [`${stored.deliveryIds[0]}/1`]);
const missed: Call = (queries, stored) =>
  missedEvents(
    queries,
    { id: stored.endpointIds[0] ?? "", organizationId: stored.organizationId },
    { events: ["WorkItemCompleted"], since: new Date(now.getTime() - 7 * DAY_MS), maxEvents: MAX_EVENTS },
  );

const among: Call = (queries, stored) =>
  deliveryHistory(queries, { ...historyOf(stored), among: stored.deliveryIds.slice(0, 5) });
const id = "0190a1b2-0000-7000-8000-0000000000aa";
const any = { eventId: null, entityId: null, idPrefix: null, types: [], firstKey: null, before: null, limit: 20 };
const keysBy =
  (sought: (stored: StoredHistory) => object): Call =>
  (queries, stored) =>
    eventKeys(queries, { ...any, organizationId: stored.organizationId, ...sought(stored) });
const byEventId = keysBy(() => ({ eventId: id }));
const byEntityId = keysBy(() => ({ entityId: id }));
const byEntityIdOn = keysBy((stored) => ({ entityId: id, before: stored.deliveryIds[0] }));
const newestEvents = keysBy(() => ({}));
const eventsOfType = keysBy((stored) => ({
  types: ["RiskCreated"],
  firstKey: firstIdAt(new Date(now.getTime() - DAY_MS)),
  before: stored.deliveryIds[0],
}));
const byIdPrefix = keysBy(() => ({ idPrefix: id.slice(0, 8), types: ["RiskCreated"] }));
const undeliveredBy =
  (sought: object): Call =>
  (queries, stored) =>
    undeliveredEvents(queries, {
      ...{ eventId: null, idPrefix: null, types: [], from: null, to: null, limit: 100 },
      ...{ organizationId: stored.organizationId, ...sought },
    });
const undeliveredById = undeliveredBy({ eventId: id });
const undeliveredByPrefix = undeliveredBy({ idPrefix: id.slice(0, 8) });
const undeliveredSince = undeliveredBy({ from: new Date(now.getTime() - DAY_MS), to: now });
const ofAllEndpoints = (stored: StoredHistory) => ({ ...historyOf(stored), endpointId: null });
const allNewest: Call = (queries, stored) =>
  deliveryHistory(queries, { ...ofAllEndpoints(stored), outcomes: [], maxScanned: 50 });
const allFailing: Call = (queries, stored) =>
  deliveryHistory(queries, {
    ...ofAllEndpoints(stored),
    firstId: firstIdAt(new Date(now.getTime() - DAY_MS)),
    olderThan: stored.deliveryIds[0] ?? "",
    maxScanned: MAX_SCANNED_OF_ALL,
  });
const allAmong: Call = (queries, stored) =>
  deliveryHistory(queries, { ...ofAllEndpoints(stored), among: stored.deliveryIds.slice(0, 5) });
const byDeliveryId: Call = (queries, stored) =>
  findDelivery(queries, { ...one(stored), id: stored.deliveryIds[0] ?? "" });
/** A key lies in the same partition as the ids of its deliveries. */
const keysOf = (stored: StoredHistory) => stored.deliveryIds.slice(0, 1);
const body: Call = (queries, stored) => readEvents(queries, { ...one(stored), keys: keysOf(stored), withBody: true });
const fates: Call = (queries, stored) => deliveriesAtEndpoints(queries, { ...one(stored), keys: keysOf(stored) });

const preview: Call = (queries, stored) =>
  previewResend(queries, {
    ...one(stored),
    eventTypes: [],
    statusCodes: [],
    from: null,
    to: null,
    firstId: firstIdAt(new Date(now.getTime() - 8 * DAY_MS)),
    endId: null,
    maxScanned: 1_000,
    maxTaken: 100,
  });
const resends: Call = (queries, stored) =>
  readResends(queries, { ...one(stored), id: null, olderThan: null, limit: 10 });

const byEndpoint = "delivery_endpoint_id_id_idx";
const byId = "delivery_pkey";
const event = "business_event_pkey";
const attempts = "delivery_attempt_pkey";
const byEvent = "business_event_organization_id_id_idx";
const byEntity = "business_event_organization_id_entity_id_key_idx";

describe.each<Statistics>(["from a quiet time", "of a backlog"])("with statistics %s", (statistics) => {
  let stored: StoredHistory;
  beforeAll(async () => {
    stored = await storeHistory(db.database.prisma, statistics);
  });

  test.each<[string, Call, string[]]>([
    ["the list of endpoints", list, [byEndpoint, event]],
    ["an edited endpoint's deliveries", recent, [byEndpoint, event]],
    ["the overview, which every open page polls,", overview(true), [byEndpoint, byId, event, "due_pkey"]],
    ["one endpoint's overview", overview(false), [byEndpoint, byId, event, "due_pkey"]],
    ["a history", history, [byEndpoint, event]],
    ["one delivery", details, [byId, byEndpoint, event, attempts]],
    ["a manual delivery's summary", summary, [byId, event]],
    ["a run of failures", failures, [byId, attempts]],
    ["what an endpoint missed", missed, [byId, event]],
    ["a history of some ids", among, [byId, byEndpoint, event]],
    ["what a receiver never got", preview, [byEndpoint, "delivery_endpoint_id_resend_of_idx", byId, event]],
    ["resends, with how far they are,", resends, [byEndpoint, byId]],
    ["an event, by its id,", byEventId, [byEvent]],
    ["events by the beginning of an id", byIdPrefix, [byEvent, byEntity]],
    ["the newest events", newestEvents, [event]],
    ["the events of a type and a time", eventsOfType, [event]],
    ["an event that was not taken, by its id,", undeliveredById, ["undelivered_event_pkey"]],
    ["events that were not taken, by the beginning of an id,", undeliveredByPrefix, ["undelivered_event_pkey"]],
    ["events that were not taken, of a time,", undeliveredSince, ["undelivered_event_organization_id_came_at_idx"]],
    ["the newest deliveries of all endpoints", allNewest, [byEndpoint, event]],
    ["failing deliveries of all endpoints", allFailing, [byEndpoint, event]],
    ["deliveries of all endpoints, by their ids,", allAmong, [byId, event]],
    ["an entity's newest events", byEntityId, [byEntity]],
    ["an entity's older events", byEntityIdOn, [byEntity]],
    ["a delivery, by its id,", byDeliveryId, [byId]],
    ["an event's body", body, [event]],
    ["what became of an event at each endpoint", fates, [byId]],
    ["an endpoint's rates", rates, ["endpoint_hour_pkey"]],
  ])("%s is read by indexes, and no whole table", (_name, call, indexes) =>
    expectWalks(db.database.queries, indexes, (queries) => call(queries, stored)),
  );
});

describe("reads of an endpoint with 12,000 deliveries today", () => {
  let stored: StoredHistory;

  beforeAll(async () => {
    const { prisma } = db.database;
    const organizationId = "busy";
    const { id } = await insertEndpoint(prisma, { organizationId });
    await storeMany(prisma, { id, organizationId }, 12_000);
    await prisma.$executeRaw`
      insert into due (shard, endpoint_id, due_at, delivery_id) select shard_of(endpoint_id), endpoint_id, now(), id from delivery where endpoint_id = ${id}::uuid`;
    for (const table of ["delivery", "due"]) await prisma.$executeRawUnsafe(`vacuum analyze ${table}`);
    stored = { organizationId, endpointIds: [id], deliveryIds: [] };
  });

  // At the worst a row is on a page of its own. A history that finds nothing walks its bound once more, for the cursor.
  test.each<[string, Call, number]>([
    ["a history that finds nothing", history, 2 * MAX_SCANNED],
    ["the overview", overview(true), 3 * ofAll.maxDeliveries],
    ["one endpoint's overview", overview(false), 2 * ofOne.maxDeliveries],
  ])("%s reads a bounded part of it", async (_name, call, pages) => {
    const read = await pagesRead(db.database.queries, (queries) => call(queries, stored));
    expect(read).toBeGreaterThan(100);
    expect(read).toBeLessThan(pages + 1_000);
  });
});

describe("reads of an endpoint that gave up 2,000 deliveries", () => {
  const organizationId = "giving-up";
  let endpoint: { id: string; organizationId: string };
  const count = 2_000;
  const preview = (queries: Queries) =>
    previewResend(queries, {
      ...{ organizationId, endpointId: endpoint.id, now: new Date() },
      ...{ eventTypes: [], statusCodes: [], from: null, to: null, firstId: null, endId: null },
      ...{ maxScanned: 50_000, maxTaken: 10_000 },
    });
  /** How many of the first that were given up have been sent again, by a resend each, and given up once more. */
  const sendAgain = async (resends: number) => {
    const { prisma } = db.database;
    const given = await prisma.delivery.findMany({
      where: { endpointId: endpoint.id, resendOf: null },
      orderBy: { id: "asc" },
      select: { id: true },
    });
    const [begin, end] = [given[0]?.id ?? "", given.at(-1)?.id ?? ""];
    for (let index = 0; index < resends; index++) {
      // Behind the ids of what was stored.
      const startedAt = new Date(now.getTime() + HOUR_MS + index);
      const row = { startedAt, state: "finished", beginId: begin, endId: end, cursorId: end } as const;
      const resend = await insertResend(prisma, endpoint, row);
      const old = given[index]?.id ?? "";
      await insertDelivery(prisma, endpoint, {
        ...{ id: deliveryId(resend.id, old), resendOf: old, createdAt: startedAt },
        ...{ state: "succeeded", attemptCount: 1, attemptedAt: startedAt },
      });
    }
  };

  beforeAll(async () => {
    const { prisma } = db.database;
    const { id } = await insertEndpoint(prisma, { organizationId, events: ["RiskCreated"] });
    endpoint = { id, organizationId };
    await storeMany(prisma, endpoint, count);
    await prisma.$executeRaw`
      update delivery set state = 'exhausted', attempt_count = 5, status_code = 500, attempted_at = created_at
      where endpoint_id = ${id}::uuid`;
    for (const table of ["delivery", "resend"]) await prisma.$executeRawUnsafe(`vacuum analyze ${table}`);
  });

  // Each that was given up was looked for in each resend that had passed it: 10,000 with 300 resends took longer than a read may.
  test("regression: reading what an endpoint never got costs the sum of what was given up and what was sent again, not their product", async () => {
    const before = await pagesRead(db.database.queries, preview);
    expect((await preview(db.database.queries)).count).toBe(count);
    await sendAgain(100);
    expect((await preview(db.database.queries)).count).toBe(count - 100);
    expect(await pagesRead(db.database.queries, preview)).toBeLessThan(before + 1_000);
  });
});

describe("reads of an entity with 12,000 events today", () => {
  const entityId = "0190a1b2-0000-7000-8000-0000000000ee";
  const organizationId = "busy";
  const search = { ...any, organizationId, entityId };

  beforeAll(async () => {
    const { prisma } = db.database;
    // An emitter may give all its events one id.
    await prisma.$executeRaw`
      insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
      select ${organizationId}, event_key(${organizationId}, ${entityId}::uuid, at), ${entityId}::uuid, 'RiskCreated', ${entityId}::uuid,
        at, at, '{}'
      from generate_series(1, 12000) as number
      cross join lateral (select date_trunc('milliseconds', now()) - number * interval '1 second' as at) as event`;
    await prisma.$executeRawUnsafe("vacuum analyze business_event");
  });

  test("its newest events are read without the others", async () => {
    const newest = async (limit: number) => (await eventKeys(db.database.queries, { ...search, limit })).keys;
    const keys = await newest(20);
    expect(keys).toHaveLength(20);
    expect(keys).toEqual((await newest(12_000)).slice(0, 20));
    const read = await pagesRead(db.database.queries, (queries) => eventKeys(queries, { ...search, limit: 20 }));
    expect(read).toBeLessThan(100);
  });

  test("events of one id are read to a bound", async () => {
    const ofId = { ...search, eventId: entityId, entityId: null, limit: 20 };
    expect((await eventKeys(db.database.queries, ofId)).keys).toHaveLength(20);
    expect(await pagesRead(db.database.queries, (queries) => eventKeys(queries, ofId))).toBeLessThan(100);
  });
});

describe("with a partition for each day", () => {
  let stored: StoredHistory;
  const dayOf = (time: Date) => time.toISOString().slice(0, 10).replaceAll("-", "");
  const daysAgo = (days: number) => dayOf(new Date(now.getTime() - days * DAY_MS));
  /** The partitions of a table that a call reads, by their day. */
  const daysRead = async (table: string, call: Call) =>
    (await tablesRead(db.database.queries, (queries) => call(queries, stored)))
      .filter((name) => name.startsWith(`${table}_2`))
      .map((name) => name.slice(table.length + 1));

  beforeAll(async () => {
    const { prisma } = db.database;
    // The one of any time.
    await prisma.$executeRaw`select drop_partitions('1970-01-01')`;
    for (let day = -25; day <= 3; day++) {
      const first = new Date(now.getTime() + day * DAY_MS);
      const end = new Date(first.getTime() + DAY_MS);
      await prisma.$executeRawUnsafe(`select make_partitions('${dayOf(first)}', '${dayOf(end)}')`);
    }
    stored = await storeHistory(prisma, "of a backlog");
  });

  test.each<[string, Call]>([
    ["the list of endpoints", list],
    ["the overview", overview(true)],
    ["one endpoint's overview", overview(false)],
  ])("%s reads no partition that is older than a day and a half", async (_name, call) => {
    const days = await daysRead("delivery", call);
    expect(days).toContain(daysAgo(0));
    expect(days.filter((day) => day < daysAgo(2))).toEqual([]);
    expect((await daysRead("business_event", call)).filter((day) => day < daysAgo(2))).toEqual([]);
  });

  test("one delivery, its event and its attempts are read in the partitions of its day", async () => {
    const day = dayOf(timeOf(stored.deliveryIds[0] ?? ""));
    for (const table of ["delivery", "delivery_attempt", "business_event"]) {
      for (const call of [details, failures]) {
        expect((await daysRead(table, call)).filter((each) => each !== day)).toEqual([]);
      }
    }
  });

  test("an event, its deliveries at all endpoints, and a history of its id are read in the partitions of its day", async () => {
    const day = dayOf(timeOf(stored.deliveryIds[0] ?? ""));
    const amongOne: Call = (queries, { deliveryIds }) =>
      deliveryHistory(queries, { ...historyOf(stored), among: deliveryIds.slice(0, 1) });
    for (const call of [byDeliveryId, body, fates, amongOne]) {
      const days = [...(await daysRead("delivery", call)), ...(await daysRead("business_event", call))];
      expect([...new Set(days)]).toEqual([day]);
    }
  });

  test("what an endpoint missed is looked for in the partitions of the window", async () => {
    for (const table of ["delivery", "business_event"]) {
      expect((await daysRead(table, missed)).filter((day) => day < daysAgo(7))).toEqual([]);
    }
  });
});

describe("with 40 days of history", () => {
  const days = useDatabase({ statementTimeoutMs: 170_000, partitioned: false });
  let stored: StoredHistory;
  beforeAll(async () => {
    await makeDays(days.database.queries);
    stored = await storeHistory(days.database.prisma, "of a backlog");
  });

  const ofIds = { details, summary, failures, among, allAmong, byDeliveryId, body, fates };
  const lists = {
    list,
    recent,
    overview: overview(true),
    overviewOfOne: overview(false),
    history,
    allNewest,
    allFailing,
  };
  const searches = {
    byEventId,
    byIdPrefix,
    newestEvents,
    eventsOfType,
    byEntityId,
    byEntityIdOn,
    missed,
    preview,
    resends,
  };

  test.each([
    ...Object.entries(ofIds).map((row) => [...row, MOST_LOCKS] as const),
    ...Object.entries({ ...lists, ...searches }).map((row) => [...row, MOST_LOCKS_OF_ALL] as const),
  ])("%s holds a bounded number of locks", async (_name, call, most) => {
    expect(await mostLocks(days, (queries) => call(queries, stored))).toBeLessThanOrEqual(most);
  });
});
