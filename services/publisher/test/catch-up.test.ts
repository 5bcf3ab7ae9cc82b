import { randomUUID } from "node:crypto";
import type { Prisma } from "@herald/common/database/generated/client";
import { deliveryId } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { insertDelivery, insertEndpoint, insertEvent, ownShards, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import type { ForOwners } from "../src/sql/rows.ts";
import { createCatchUp } from "../src/tasks/catch-up.ts";
import { queriesAround, taskParts } from "./given.ts";

const db = useDatabase();
const DAY_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;
const OPTIONS = { pageSize: 10, windowMs: 7 * DAY_MS, leaseMs: 2 * MINUTE_MS };
const noSignal = new AbortController().signal;

type Mark = Partial<Prisma.CatchUpUncheckedCreateInput>;

/** A clock that stands this long after the rows of these tests. */
const clockAt = (milliseconds: number) => steeredClock(new Date(ROW_TIME.getTime() + milliseconds));
const clock = clockAt(DAY_MS);

beforeEach(async () => {
  await db.database.prisma.$executeRaw`truncate webhook_endpoint, catch_up, business_event, delivery, due`;
});

interface Run {
  queries?: Queries;
  options?: Partial<typeof OPTIONS>;
  handOver?: (made: ForOwners) => void;
}

function task(at: Clock = clock, { queries = db.database.queries, options = {}, handOver = () => {} }: Run = {}) {
  return createCatchUp({ ...taskParts(queries, at), handOver }, { ...OPTIONS, ...options });
}
const run = (at: Clock = clock, more: Run = {}) => task(at, more)(noSignal);

const deliveriesOf = (endpointId: string) =>
  db.database.prisma.delivery.findMany({ where: { endpointId }, orderBy: { id: "asc" } });
const dueOf = (endpointId: string) => db.database.prisma.due.findMany({ where: { endpointId } });
const catchUpOf = (endpointId: string) => db.database.prisma.catchUp.findUniqueOrThrow({ where: { endpointId } });

async function insertMarked(row: Partial<Prisma.WebhookEndpointUncheckedCreateInput> = {}, mark: Mark = {}) {
  const endpoint = await insertEndpoint(db.database.prisma, row);
  await db.database.prisma.catchUp.create({ data: { endpointId: endpoint.id, dueAt: clock.now(), ...mark } });
  return endpoint;
}

/** As an edit or a resume does it. */
const markAgain = (endpointId: string, at: Clock = clock) =>
  db.database.prisma.catchUp.update({ where: { endpointId }, data: { dueAt: at.now(), priority: 0 } });

async function insertEvents(organizationId: string, count: number, row: Parameters<typeof insertEvent>[2] = {}) {
  for (let index = 0; index < count; index++) {
    await insertEvent(db.database.prisma, organizationId, { occurredAt: new Date(ROW_TIME.getTime() + index), ...row });
  }
}

const withPages = (steps: Parameters<typeof queriesAround>[2]) =>
  queriesAround(db.database.queries, "backfilled", steps);

test("§6.2 a catch-up goes on, page by page, until no event is missing", async () => {
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 15, { type: "RiskCreated" });
  await insertEvents(endpoint.organizationId, 25);
  expect(await run()).toBe(25);
  const deliveries = await deliveriesOf(endpoint.id);
  expect(deliveries).toHaveLength(25);
  for (const delivery of deliveries) {
    expect(delivery).toMatchObject({ state: "pending", attemptCount: 0, body: null });
    expect(delivery.id).toBe(deliveryId(delivery.eventKey ?? "", endpoint.id));
  }
  const due = await dueOf(endpoint.id);
  expect(due.map(({ deliveryId }) => deliveryId).sort()).toEqual(deliveries.map(({ id }) => id));
  for (const row of due) expect(row).toMatchObject({ dueAt: clock.now(), attempts: 0 });
});

test("§6.1/window §6.1/creation §8/window a catch-up reaches back seven days, and never to before the endpoint's creation", async () => {
  const now = ROW_TIME.getTime() + 100 * DAY_MS;
  const at = clockAt(100 * DAY_MS);
  const old = await insertMarked();
  const young = await insertMarked({
    organizationId: old.organizationId,
    createdAt: new Date(now - DAY_MS),
  });
  for (const age of [8 * DAY_MS, 7 * DAY_MS + 1, 7 * DAY_MS, 2 * DAY_MS, DAY_MS + 1, DAY_MS, 0]) {
    await insertEvent(db.database.prisma, old.organizationId, { occurredAt: new Date(now - age) });
  }
  await run(at);
  expect(await deliveriesOf(old.id)).toHaveLength(5);
  expect(await deliveriesOf(young.id)).toHaveLength(2);
});

test("a catch-up makes only the missing deliveries, and none when it is repeated", async () => {
  const endpoint = await insertMarked();
  const known = await insertEvent(db.database.prisma, endpoint.organizationId);
  const ended = { state: "exhausted", attemptCount: 5 } as const;
  await insertDelivery(db.database.prisma, endpoint, { ...ended, eventKey: known.key });
  await insertEvents(endpoint.organizationId, 3);
  expect(await run()).toBe(3);
  expect(await dueOf(endpoint.id)).toHaveLength(3);
  await markAgain(endpoint.id);
  expect(await run()).toBe(0);
  expect(await dueOf(endpoint.id)).toHaveLength(3);
});

test("a due row that was left behind without its delivery does not stop a catch-up", async () => {
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 3);
  expect(await run()).toBe(3);
  await db.database.prisma.delivery.deleteMany({ where: { endpointId: endpoint.id } });
  await markAgain(endpoint.id);
  expect(await run()).toBe(3);
  expect(await deliveriesOf(endpoint.id)).toHaveLength(3);
  expect(await dueOf(endpoint.id)).toHaveLength(3);
});

test("§3.1/resume a catch-up rewrites no delivery that is there already", async () => {
  const endpoint = await insertMarked();
  const dueAt = new Date(clock.now().getTime() + MINUTE_MS);
  for (let attemptCount = 0; attemptCount < 5; attemptCount++) {
    await insertDelivery(db.database.prisma, endpoint, { attemptCount, due: { dueAt } });
  }
  const versions = () => db.database.prisma.$queryRaw`select delivery_id, xmin::text, due_at from due order by 1`;
  const before = await versions();
  await run();
  expect(await versions()).toEqual(before);
});

test("each page that made deliveries notifies the owner of their endpoint", async () => {
  const endpoint = await insertMarked();
  await insertMarked({ organizationId: endpoint.organizationId, events: ["RiskCreated"] });
  await insertEvents(endpoint.organizationId, 25);
  const owner = randomUUID();
  await ownShards(db.database.prisma, owner);
  const notified: ForOwners[] = [];
  await run(clock, { handOver: (made) => notified.push(made) });
  const work = [{ endpointId: endpoint.id, organizationId: endpoint.organizationId, owner }];
  expect(notified).toEqual(Array(3).fill({ stored: true, deliveries: [], work }));
});

test("a catch-up is repeated a minute later, which closes the race with a fan-out in flight, and then once a day", async () => {
  const at = clockAt(DAY_MS);
  const againAt = new Date(at.now().getTime() + MINUTE_MS);
  const endpoint = await insertMarked({}, { againAt });
  await run(at);
  expect(await catchUpOf(endpoint.id)).toMatchObject({ dueAt: againAt, againAt, priority: 0, cursor: null });
  // Its fan-out had read the endpoint as it was before the edit.
  await insertEvent(db.database.prisma, endpoint.organizationId);
  expect(await run(at)).toBe(0);
  at.advance(MINUTE_MS);
  expect(await run(at)).toBe(1);
  const dueAt = new Date(at.now().getTime() + DAY_MS);
  expect(await catchUpOf(endpoint.id)).toMatchObject({ dueAt, againAt: null, priority: 1, completeTo: at.now() });
});

test.each<[string, Mark]>([
  ["that was asked for", {}],
  ["whose publisher died", { dueAt: new Date(clock.now().getTime() + OPTIONS.leaseMs) }],
  ["that is made for the second time", { againAt: new Date(clock.now().getTime() + MINUTE_MS) }],
])(
  "regression: a catch-up %s is made after PostgreSQL's clock was set back by an hour, and then rests",
  async (_which, mark) => {
    const at = clockAt(DAY_MS - 60 * MINUTE_MS);
    const endpoint = await insertMarked({}, mark);
    await insertEvents(endpoint.organizationId, 1);
    expect(await run(at)).toBe(1);
    const dueAt = new Date(at.now().getTime() + DAY_MS);
    expect(await catchUpOf(endpoint.id)).toMatchObject({ dueAt, againAt: null, priority: 1 });
  },
);

test("the daily guard begins a day before the last pass, and not at the window's start", async () => {
  const at = clockAt(5 * DAY_MS);
  const completeTo = new Date(ROW_TIME.getTime() + 4 * DAY_MS);
  const endpoint = await insertMarked({}, { priority: 1, completeTo });
  for (const days of [1, 2, 2.9, 3, 4]) {
    await insertEvent(db.database.prisma, endpoint.organizationId, {
      occurredAt: new Date(ROW_TIME.getTime() + days * DAY_MS),
    });
  }
  expect(await run(at)).toBe(2);
  expect(await catchUpOf(endpoint.id)).toMatchObject({ completeTo: at.now(), priority: 1 });
  // A resume goes through all of the window.
  await markAgain(endpoint.id, at);
  expect(await run(at)).toBe(3);
});

test("a just resumed endpoint is caught up before twenty overdue daily guards", async () => {
  const organizationId = randomUUID();
  for (let index = 1; index <= 20; index++) {
    await insertMarked({ organizationId }, { priority: 1, dueAt: new Date(clock.now().getTime() - index * MINUTE_MS) });
  }
  const resumed = await insertMarked({ organizationId });
  await insertEvents(organizationId, 1);
  const order: string[] = [];
  await run(clock, { handOver: ({ work }) => order.push(...work.map(({ endpointId }) => endpointId)) });
  expect(order).toHaveLength(21);
  expect(order[0]).toBe(resumed.id);
});

test("a long catch-up goes behind the others after ten pages", async () => {
  const at = clockAt(DAY_MS);
  const long = await insertMarked({}, { dueAt: new Date(clock.now().getTime() - MINUTE_MS) });
  const short = await insertMarked();
  await insertEvents(long.organizationId, 120);
  await insertEvents(short.organizationId, 1);
  const order: string[] = [];
  // Time goes on with each page, so that what is given back is due after what waited.
  const queries = withPages({ after: () => at.advance(1) });
  await run(at, { queries, handOver: ({ work }) => order.push(...work.map(({ endpointId }) => endpointId)) });
  expect(order).toEqual([...Array(10).fill(long.id), short.id, long.id, long.id]);
  expect(await deliveriesOf(long.id)).toHaveLength(120);
});

test("a disabled endpoint gets nothing, and waits for its resume", async () => {
  const endpoint = await insertMarked({ enabled: false });
  await insertDelivery(db.database.prisma, endpoint);
  await insertEvents(endpoint.organizationId, 1);
  expect(await run()).toBe(0);
  expect(await deliveriesOf(endpoint.id)).toHaveLength(1);
  const [row] = await db.database.prisma.$queryRaw<{ dueAt: string }[]>`
    select due_at::text as "dueAt" from catch_up where endpoint_id = ${endpoint.id}::uuid`;
  expect(row).toEqual({ dueAt: "infinity" });
});

test.each([
  ["an endpoint that is disabled", { enabled: false }],
  ["a subscription that ends", { events: ["RiskCreated"] }],
])("%s between two pages gets no more", async (_what, data) => {
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 25);
  const where = { id: endpoint.id };
  const queries = withPages({ after: () => db.database.prisma.webhookEndpoint.update({ where, data }) });
  expect(await run(clock, { queries })).toBe(10);
});

test("the catch-up of a deleted endpoint is removed", async () => {
  const endpoint = await insertMarked();
  await db.database.prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
  expect(await run()).toBe(0);
  expect(await db.database.prisma.catchUp.count()).toBe(0);
});

test("a mark that is made while a catch-up runs is kept, and the pass under way stops", async () => {
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 25);
  const again = new Date(clock.now().getTime() + 1);
  const where = { endpointId: endpoint.id };
  const data = { dueAt: again, cursor: null, priority: 0 };
  const queries = withPages({ before: () => db.database.prisma.catchUp.update({ where, data }) });
  await run(clock, { queries });
  expect(await catchUpOf(endpoint.id)).toMatchObject({ dueAt: again, cursor: null, completeTo: null });
});

test("two publishers at once backfill each delivery once", async () => {
  const organizationId = randomUUID();
  const endpoints = await Promise.all([1, 2, 3, 4].map(() => insertMarked({ organizationId })));
  await insertEvents(organizationId, 12);
  const results = await Promise.all([run(), run()]);
  expect(results.reduce((sum, made) => sum + made, 0)).toBe(48);
  for (const { id } of endpoints) expect(await deliveriesOf(id)).toHaveLength(12);
});

test("a catch-up that takes longer than its lease keeps it: another publisher that looks after each page reads none", async () => {
  const at = clockAt(DAY_MS);
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 60);
  let pages = 0;
  let elsewhere = 0;
  const others = withPages({ after: () => elsewhere++ });
  const queries = withPages({
    async after() {
      pages++;
      // Eleven pages of half a minute, with a lease of two minutes.
      at.advance(30_000);
      await run(at, { queries: others });
    },
  });
  expect(await run(at, { queries, options: { pageSize: 6 } })).toBe(60);
  expect([pages, elsewhere]).toEqual([11, 0]);
});

test("a catch-up whose pages all take longer than its lease goes on at another publisher from its cursor, and ends", async () => {
  const at = clockAt(DAY_MS);
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 60);
  let pages = 0;
  let elsewhere = 0;
  const queries = withPages({
    async after() {
      pages++;
      at.advance(OPTIONS.leaseMs + 30_000);
      if (pages === 1) elsewhere = await run(at, { queries, options: { pageSize: 6 } });
    },
  });
  const own = await run(at, { queries, options: { pageSize: 6 } });
  expect([own, elsewhere]).toEqual([6, 54]);
  expect(pages).toBeLessThanOrEqual(13);
  expect(await catchUpOf(endpoint.id)).toMatchObject({ completeTo: expect.any(Date) });
  expect(await deliveriesOf(endpoint.id)).toHaveLength(60);
});

test("a stop gives the catch-up back at once, with its cursor", async () => {
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 25);
  const stopping = new AbortController();
  await task(clock, { queries: withPages({ after: () => stopping.abort() }) })(stopping.signal);
  expect(await deliveriesOf(endpoint.id)).toHaveLength(10);
  expect(await run()).toBe(15);
});

test("a catch-up that fails delays no other endpoint, and is tried again", async () => {
  const at = clockAt(DAY_MS);
  const unlucky = await insertMarked({}, { dueAt: new Date(at.now().getTime() - 2) });
  const next = await insertMarked({}, { dueAt: new Date(at.now().getTime() - 1) });
  for (const { organizationId } of [unlucky, next]) await insertEvents(organizationId, 3);
  let calls = 0;
  const breaksOnce = withPages({
    before: () => (calls++ === 0 ? Promise.reject(new Error("the connection broke")) : undefined),
  });
  expect(await run(at, { queries: breaksOnce })).toBe(3);
  expect(await deliveriesOf(unlucky.id)).toHaveLength(0);
  expect(await deliveriesOf(next.id)).toHaveLength(3);
  at.advance(OPTIONS.leaseMs);
  expect(await run(at)).toBe(3);
  expect(await deliveriesOf(unlucky.id)).toHaveLength(3);
});

test("a page that PostgreSQL can't do in time is read in smaller ones", async () => {
  const endpoint = await insertMarked();
  await insertEvents(endpoint.organizationId, 25);
  const sizes: number[] = [];
  const slow = withPages({
    async before(values) {
      const size = values.find((value) => typeof value === "number") ?? 0;
      sizes.push(size);
      // PostgreSQL's own message for a statement that ran out of time.
      if (size > 4) await db.database.queries.$executeRaw`do 'begin raise sqlstate ''57014''; end'`;
    },
  });
  expect(await run(clock, { queries: slow })).toBe(25);
  expect(sizes.slice(0, 3)).toEqual([10, 5, 3]);
});
