import { randomUUID } from "node:crypto";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { Registry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/testkit/harness/eventually";
import { insertDelivery, insertEndpoint, insertEvent, ROW_TIME } from "@herald/testkit/harness/rows";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import { catchUp } from "../src/catch-up.ts";
import { createMetrics } from "../src/metrics.ts";
import { backfill } from "../src/sql/backfill.ts";
import { statementsThatWait } from "./waiting.ts";

const db = useDatabase();
const DAY_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;
const OPTIONS = { pageSize: 10, windowMs: 7 * DAY_MS };
const log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };

/** A clock that stands a day after the rows of these tests. */
const clockAt = (milliseconds: number) => steeredClock(new Date(ROW_TIME.getTime() + milliseconds));
const clock = clockAt(DAY_MS);
const marked = { catchUpAt: clock.now(), catchUpUntil: new Date(clock.now().getTime() + MINUTE_MS) };

const run = (at: Clock = clock, { queries = db.database.queries, options = OPTIONS } = {}) =>
  catchUp({ queries, clock: at, metrics: createMetrics(new Registry()), log }, options, new AbortController().signal);
const deliveriesOf = (endpointId: string) =>
  db.database.prisma.delivery.findMany({ where: { endpointId }, orderBy: { id: "asc" } });
const endpointOf = (id: string) => db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

async function insertEvents(organizationId: string, count: number, row: Parameters<typeof insertEvent>[2] = {}) {
  for (let index = 0; index < count; index++) {
    await insertEvent(db.database.prisma, organizationId, { occurredAt: new Date(ROW_TIME.getTime() + index), ...row });
  }
}

test("§6.2 a catch-up goes on, page by page, until no event is missing", async () => {
  const endpoint = await insertEndpoint(db.database.prisma, marked);
  await insertEvents(endpoint.organizationId, 15, { type: "RiskCreated" });
  await insertEvents(endpoint.organizationId, 25);
  expect(await run()).toEqual({ unparked: 0, backfilled: 25 });
  const deliveries = await deliveriesOf(endpoint.id);
  expect(deliveries).toHaveLength(25);
  for (const delivery of deliveries) {
    expect(delivery).toMatchObject({ state: "pending", attemptCount: 0, nextAttemptAt: clock.now(), body: null });
  }
});

test("§6.2 §8/batch a catch-up also finds the events after the earliest 1,000", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, marked);
  await prisma.$executeRaw`
    insert into business_event (organization_id, id, type, occurred_at, received_at, body)
    select ${endpoint.organizationId}, gen_random_uuid(),
      case when number > 1500 then 'WorkItemCompleted' else 'RiskCreated' end,
      ${ROW_TIME}::timestamptz + number * interval '1 ms', ${ROW_TIME}::timestamptz, '{}'
    from generate_series(1, 2000) as number`;
  const options = { ...OPTIONS, pageSize: 1_000 };
  expect(await run(clock, { options })).toEqual({
    unparked: 0,
    backfilled: 500,
  });
});

test("§6.1/window §6.1/creation §8/window a catch-up reaches back seven days, and never to before the endpoint's creation", async () => {
  const now = ROW_TIME.getTime() + 100 * DAY_MS;
  const at = clockAt(100 * DAY_MS);
  const old = await insertEndpoint(db.database.prisma, { ...marked, catchUpAt: at.now() });
  const young = await insertEndpoint(db.database.prisma, {
    ...marked,
    catchUpAt: at.now(),
    organizationId: old.organizationId,
    createdAt: new Date(now - DAY_MS),
  });
  for (const age of [8 * DAY_MS, 7 * DAY_MS, 2 * DAY_MS, DAY_MS, 0]) {
    await insertEvent(db.database.prisma, old.organizationId, { occurredAt: new Date(now - age) });
  }
  await run(at);
  expect(await deliveriesOf(old.id)).toHaveLength(4);
  expect(await deliveriesOf(young.id)).toHaveLength(2);
});

test("a catch-up makes only the missing deliveries, and none when it is repeated", async () => {
  const endpoint = await insertEndpoint(db.database.prisma, marked);
  const known = await insertEvent(db.database.prisma, endpoint.organizationId);
  await insertDelivery(db.database.prisma, endpoint, {
    businessEventId: known.id,
    state: "exhausted",
    attemptCount: 5,
  });
  await insertEvents(endpoint.organizationId, 3);
  expect(await run()).toEqual({ unparked: 0, backfilled: 3 });
  await db.database.prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { catchUpAt: clock.now() } });
  expect(await run()).toEqual({ unparked: 0, backfilled: 0 });
});

test("§3.1/resume a catch-up unparks the deliveries of an enabled endpoint, due by their own delay, or at once if never attempted; those at five attempts stay", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, marked);
  const due = new Date(clock.now().getTime() + MINUTE_MS);
  for (let index = 0; index < 21; index++) {
    await insertDelivery(prisma, endpoint, { state: "parked", attemptCount: index % 5, nextAttemptAt: due });
  }
  const exhausted = await insertDelivery(prisma, endpoint, {
    state: "exhausted",
    attemptCount: 5,
    nextAttemptAt: null,
  });
  expect(await run()).toEqual({ unparked: 21, backfilled: 0 });
  for (const delivery of await deliveriesOf(endpoint.id)) {
    if (delivery.id === exhausted.id) expect(delivery).toMatchObject({ state: "exhausted", attemptCount: 5 });
    else {
      const nextAttemptAt = delivery.attemptCount === 0 ? clock.now() : due;
      expect(delivery).toMatchObject({ state: "pending", nextAttemptAt });
    }
  }
});

test("a catch-up leaves a disabled endpoint alone", async () => {
  const endpoint = await insertEndpoint(db.database.prisma, { ...marked, enabled: false });
  const { id } = await insertDelivery(db.database.prisma, endpoint, { state: "parked" });
  await insertEvents(endpoint.organizationId, 1);
  expect(await run()).toEqual({ unparked: 0, backfilled: 0 });
  expect(await deliveriesOf(endpoint.id)).toMatchObject([{ id, state: "parked" }]);
});

test("a catch-up is repeated a minute later, which closes the race with a fan-out in flight, and then once a day", async () => {
  const at = clockAt(DAY_MS);
  const endpoint = await insertEndpoint(db.database.prisma, marked);
  await run(at);
  expect((await endpointOf(endpoint.id)).catchUpAt).toEqual(marked.catchUpUntil);
  // Its fan-out had read the endpoint as it was before the edit.
  await insertEvent(db.database.prisma, endpoint.organizationId);
  expect((await run(at)).backfilled).toBe(0);
  at.advance(MINUTE_MS);
  expect((await run(at)).backfilled).toBe(1);
  expect((await endpointOf(endpoint.id)).catchUpAt).toEqual(new Date(at.now().getTime() + DAY_MS));
});

test("a mark that is made while a catch-up runs is kept", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, marked);
  await insertEvents(endpoint.organizationId, 1);
  const again = new Date(clock.now().getTime() + 1);
  // The edit comes between the taking and the finishing: at the first page that is read.
  const watched = new Proxy(db.database.queries, {
    get(target, property, receiver) {
      if (property !== "$queryRaw") return Reflect.get(target, property, receiver);
      return async (...parameters: Parameters<Queries["$queryRaw"]>) => {
        const rows = await target.$queryRaw(...parameters);
        await prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { catchUpAt: again } });
        return rows;
      };
    },
  });
  expect(await run(clock, { queries: watched })).toEqual({ unparked: 0, backfilled: 1 });
  expect((await endpointOf(endpoint.id)).catchUpAt).toEqual(again);
});

test("two publishers at once backfill each delivery once", async () => {
  const organizationId = randomUUID();
  const endpoints = await Promise.all(
    [1, 2, 3, 4].map(() => insertEndpoint(db.database.prisma, { ...marked, organizationId })),
  );
  await insertEvents(organizationId, 12);
  const results = await Promise.all([run(), run()]);
  expect(results.reduce((sum, { backfilled }) => sum + backfilled, 0)).toBe(48);
  for (const { id } of endpoints) expect(await deliveriesOf(id)).toHaveLength(12);
});

test("an endpoint that is deleted during its catch-up is passed over", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, marked);
  await insertEvents(endpoint.organizationId, 3);
  const now = clock.now();
  const page = { endpointId: endpoint.id, after: null, windowStart: ROW_TIME, now, pageSize: 10 };
  let backfilling: Promise<unknown> | undefined;
  await prisma.$transaction(async (transaction) => {
    await transaction.webhookEndpoint.delete({ where: { id: endpoint.id } });
    backfilling = backfill(db.database.queries, page);
    await eventually(async () => expect(await statementsThatWait(prisma)).toBe(1));
  });
  expect(await backfilling).toEqual({ eventCount: 0, deliveryCount: 0, cursor: null });
});

test("a catch-up that fails delays no other endpoint, and is tried again", async () => {
  const { prisma } = db.database;
  const at = clockAt(DAY_MS);
  const unlucky = await insertEndpoint(prisma, { catchUpAt: new Date(at.now().getTime() - 2) });
  const next = await insertEndpoint(prisma, { catchUpAt: new Date(at.now().getTime() - 1) });
  for (const { organizationId } of [unlucky, next]) await insertEvents(organizationId, 3);
  let calls = 0;
  const breaksOnce = new Proxy(db.database.queries, {
    get(target, property, receiver) {
      // The first statement takes an endpoint, the second one unparks its deliveries.
      if (property === "$executeRaw" && calls++ === 0) return () => Promise.reject(new Error("the connection broke"));
      return Reflect.get(target, property, receiver);
    },
  });
  await expect(run(at, { queries: breaksOnce })).rejects.toThrow("the connection broke");
  await run(at);
  expect(await deliveriesOf(unlucky.id)).toHaveLength(0);
  expect(await deliveriesOf(next.id)).toHaveLength(3);
  at.advance(3 * MINUTE_MS);
  await run(at);
  expect(await deliveriesOf(unlucky.id)).toHaveLength(3);
});
