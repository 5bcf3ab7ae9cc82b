import { randomUUID } from "node:crypto";
import type { Prisma } from "@herald/common/database/generated/client";
import { deliveryId } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import {
  idAt,
  insertDelivery,
  insertEndpoint,
  insertEvent,
  insertResend,
  ownShards,
  ROW_TIME,
} from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import type { ForOwners } from "../src/sql/rows.ts";
import { createResend, MAX_WAITING } from "../src/tasks/resend.ts";
import { queriesAround, taskParts } from "./given.ts";

const db = useDatabase();
const LEASE_MS = 120_000;
const REST_MS = 500;
const HOUR_MS = 3_600_000;
const noSignal = new AbortController().signal;

type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

let clock = steeredClock(ROW_TIME);
let handedOver: ForOwners[] = [];

beforeEach(async () => {
  clock = steeredClock(ROW_TIME);
  handedOver = [];
  await db.database.prisma.$executeRaw`truncate webhook_endpoint, resend, business_event, delivery, due`;
});

const run = ({ queries = db.database.queries }: { queries?: Queries } = {}) =>
  createResend(
    { ...taskParts(queries, clock), handOver: (made) => handedOver.push(made) },
    { leaseMs: LEASE_MS },
  )(noSignal);

/** Deliveries that were given up an hour ago, each a millisecond after the one before. */
async function giveUp(
  endpoint: Endpoint,
  count: number,
  row: Partial<Prisma.DeliveryUncheckedCreateInput> = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const createdAt = new Date(ROW_TIME.getTime() - HOUR_MS + index);
    const { id } = await insertDelivery(db.database.prisma, endpoint, {
      createdAt,
      state: "exhausted",
      attemptCount: 5,
      attemptedAt: createdAt,
      statusCode: 500,
      body: `{"number":  ${index}}`,
      ...row,
    });
    ids.push(id);
  }
  return ids;
}

/** A new endpoint that gave up so many deliveries, and a resend of them. */
async function begin(count: number, row: Partial<Prisma.ResendUncheckedCreateInput> = {}) {
  const endpoint = await insertEndpoint(db.database.prisma);
  const ids = await giveUp(endpoint, count);
  return { endpoint, ids, id: (await start(endpoint, row)).id };
}

const start = (endpoint: Endpoint, row: Partial<Prisma.ResendUncheckedCreateInput> = {}) =>
  insertResend(db.database.prisma, endpoint, { startedAt: clock.now(), ...row });
const resendOf = (id: string) => db.database.prisma.resend.findUniqueOrThrow({ where: { id } });
const madeFor = (endpoint: Endpoint) =>
  db.database.prisma.delivery.findMany({ where: { endpointId: endpoint.id, resendOf: { not: null } } });
/** Ends all waiting deliveries, as if the receiver had taken them. */
async function deliverAll({ id }: Endpoint): Promise<void> {
  await db.database.prisma.$executeRaw`
    with gone as (delete from due where endpoint_id = ${id}::uuid returning delivery_id)
    update delivery set state = 'succeeded' from gone where delivery.id = gone.delivery_id`;
}
/** Pages, and deliveries between them, until a resend has ended. */
async function toTheEnd(endpoint: Endpoint, id: string): Promise<void> {
  while ((await resendOf(id)).state === "running") {
    await run();
    await deliverAll(endpoint);
    clock.advance(REST_MS);
  }
}

const withPages = (steps: Parameters<typeof queriesAround>[2]) =>
  queriesAround(db.database.queries, "scanned as", steps);

test("regression: a resend goes on after PostgreSQL's clock was set back by an hour, also one whose publisher died", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await giveUp(endpoint, 3);
  const startedAt = clock.now();
  const { id } = await start(endpoint, { startedAt, dueAt: new Date(startedAt.getTime() + LEASE_MS) });
  clock.set(new Date(startedAt.getTime() - HOUR_MS));
  await run();
  expect(await resendOf(id)).toMatchObject({ state: "finished" });
  expect(await madeFor(endpoint)).toHaveLength(3);
});

test("a delivery that expired without an attempt is sent again as one that was exhausted, as long as it exists", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await giveUp(endpoint, 1, { state: "expired", attemptCount: 0, attemptedAt: null, statusCode: null });
  await start(endpoint, { total: 1 });
  expect(await run()).toBe(1);
});

test("§3.2 each delivery that was given up becomes a new manual delivery with its body byte for byte, and stays as it is", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const body = '{ "größe":\t"ein\\u00df" }\r\n';
  const event = await insertEvent(db.database.prisma, endpoint.organizationId, {
    occurredAt: new Date(ROW_TIME.getTime() - 2 * HOUR_MS),
    body,
  });
  const gone = { state: "exhausted", attemptCount: 5, attemptedAt: ROW_TIME } as const;
  const { id: ofEvent } = await insertDelivery(db.database.prisma, endpoint, { ...gone, eventKey: event.key });
  const [manual = ""] = await giveUp(endpoint, 1);
  const old = () => db.database.prisma.delivery.findMany({ where: { resendOf: null }, orderBy: { id: "asc" } });
  const before = await old();
  const { id } = await start(endpoint, { total: 2 });
  const owner = randomUUID();
  await ownShards(db.database.prisma, owner);
  expect(await run()).toBe(2);

  expect(await old()).toEqual(before);
  const made = await madeFor(endpoint);
  const bodies = new Map(made.map((delivery) => [delivery.resendOf, delivery.body]));
  expect(bodies).toEqual(
    new Map([
      [ofEvent, body],
      [manual, '{"number":  0}'],
    ]),
  );
  for (const delivery of made) {
    expect(delivery).toMatchObject({ eventKey: null, state: "pending", attemptCount: 0, createdAt: clock.now() });
    expect(delivery.id).toBe(deliveryId(id, delivery.resendOf ?? ""));
  }
  const due = await db.database.prisma.due.findMany();
  expect(due.map((row) => row.deliveryId).sort()).toEqual(made.map((delivery) => delivery.id).sort());
  for (const row of due) expect(row).toMatchObject({ dueAt: clock.now(), attempts: 0 });
  const work = [{ endpointId: endpoint.id, organizationId: endpoint.organizationId, owner }];
  expect(handedOver).toEqual([{ stored: true, deliveries: [], work }]);
  expect(await resendOf(id)).toMatchObject({ state: "finished", endedAt: clock.now(), dueAt: null });
});

test("only deliveries that pass the filter are sent again, of events that the endpoint takes, and none of another endpoint", async () => {
  const endpoint = await insertEndpoint(db.database.prisma, { events: ["WorkItemCompleted", "RiskCreated"] });
  const other = await insertEndpoint(db.database.prisma, { organizationId: endpoint.organizationId });
  await giveUp(other, 1);
  await giveUp(endpoint, 1, { eventType: "ProjectCreated" });
  await giveUp(endpoint, 1, { statusCode: 404 });
  await giveUp(endpoint, 1, { state: "succeeded" });
  await giveUp(endpoint, 1, { state: "pending" });
  await giveUp(endpoint, 1, { attemptedAt: new Date(ROW_TIME.getTime() + 1) });
  await giveUp(endpoint, 1, { eventType: "RiskCreated" });
  const fromAt = new Date(ROW_TIME.getTime() - HOUR_MS);
  const tooOld = new Date(fromAt.getTime() - 1);
  await giveUp(endpoint, 1, { createdAt: tooOld });
  const [first, second] = await giveUp(endpoint, 3);
  const toAt = new Date(fromAt.getTime() + 2);
  await start(endpoint, { eventTypes: ["WorkItemCompleted"], statusCodes: [500], fromAt, toAt });
  expect(await run()).toBe(2);
  expect((await madeFor(endpoint)).map((delivery) => delivery.resendOf).sort()).toEqual([first, second]);
});

test("a delivery that was sent again is not sent once more; if its new delivery is given up too, that one is sent again", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await giveUp(endpoint, 3);
  const endId = idAt(new Date(ROW_TIME.getTime() + HOUR_MS));
  await toTheEnd(endpoint, (await start(endpoint)).id);
  const [failed] = await madeFor(endpoint);
  await db.database.prisma.delivery.update({
    where: { id: failed?.id ?? "" },
    data: { state: "exhausted", attemptedAt: clock.now() },
  });
  clock.advance(1_000);
  await toTheEnd(endpoint, (await start(endpoint, { endId })).id);
  const made = await madeFor(endpoint);
  expect(made).toHaveLength(4);
  expect(made.filter((delivery) => delivery.resendOf === failed?.id)).toHaveLength(1);
});

test("no more than fifty of a resend's deliveries wait at once, and 120 are all sent, each once", async () => {
  const { endpoint, ids, id } = await begin(120, { total: 120 });
  expect(await run()).toBe(MAX_WAITING);
  clock.advance(REST_MS);
  expect(await run()).toBe(0);
  await db.database.prisma.$executeRaw`delete from due where delivery_id in (select delivery_id from due limit 7)`;
  clock.advance(REST_MS);
  expect(await run()).toBe(7);
  await toTheEnd(endpoint, id);
  const made = await madeFor(endpoint);
  expect(made.map((delivery) => delivery.resendOf).sort()).toEqual(ids);
}, 120_000);

test("a resend goes through a long history with few given-up deliveries without resting", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await db.database.prisma.$executeRaw`
    insert into delivery (id, endpoint_id, organization_id, event_type, body, state, created_at)
    select overlay(gen_random_uuid()::text placing left(${idAt(new Date(ROW_TIME.getTime() - 2 * HOUR_MS))}, 14) from 1 for 14)::uuid,
      ${endpoint.id}::uuid, ${endpoint.organizationId}, 'WorkItemCompleted', '{}', 'succeeded', ${ROW_TIME}
    from generate_series(1, 1200)`;
  await giveUp(endpoint, 2);
  const { id } = await start(endpoint);
  expect(await run()).toBe(2);
  expect(await resendOf(id)).toMatchObject({ state: "finished" });
});

test("an organization with two resends rests twice as long after each page as one with one, and turns go round", async () => {
  const [first, second] = [await insertEndpoint(db.database.prisma), await insertEndpoint(db.database.prisma)];
  const third = await insertEndpoint(db.database.prisma, { organizationId: first.organizationId });
  const resends: string[] = [];
  for (const endpoint of [first, second, third]) {
    await giveUp(endpoint, 60);
    resends.push((await start(endpoint)).id);
  }
  expect(await run()).toBe(3 * MAX_WAITING);
  const rests = await Promise.all(
    resends.map(async (id) => ((await resendOf(id)).dueAt?.getTime() ?? 0) - clock.now().getTime()),
  );
  expect(rests).toEqual([2 * REST_MS, REST_MS, 2 * REST_MS]);
});

test("a process that dies before or after a page leaves none out and makes none twice", async () => {
  const { endpoint, ids, id } = await begin(120);
  const dies = () => Promise.reject(new Error("the process died"));
  for (const step of [{ before: dies }, { after: dies }, { before: dies }, { after: dies }]) {
    await run({ queries: withPages(step) });
    await deliverAll(endpoint);
    clock.advance(LEASE_MS);
  }
  await toTheEnd(endpoint, id);
  expect((await madeFor(endpoint)).map((delivery) => delivery.resendOf).sort()).toEqual(ids);
});

test("a process whose lease is over makes nothing", async () => {
  const { endpoint, ids, id } = await begin(10);
  let isSlow = true;
  const queries = withPages({
    before: async () => {
      if (!isSlow) return;
      isSlow = false;
      clock.advance(LEASE_MS);
      expect(await run()).toBe(10);
    },
  });
  expect(await run({ queries })).toBe(0);
  expect((await madeFor(endpoint)).map((delivery) => delivery.resendOf).sort()).toEqual(ids);
  expect(await resendOf(id)).toMatchObject({ state: "finished" });
});

test("a resend that is stopped makes no more, even if a page was about to be made", async () => {
  const { endpoint, id } = await begin(120);
  expect(await run()).toBe(MAX_WAITING);
  await deliverAll(endpoint);
  clock.advance(REST_MS);
  const stop = () =>
    db.database.prisma.resend.update({ where: { id }, data: { state: "stopped", stopReason: "asked", dueAt: null } });
  expect(await run({ queries: withPages({ before: stop }) })).toBe(0);
  clock.advance(LEASE_MS);
  expect(await run()).toBe(0);
  expect(await madeFor(endpoint)).toHaveLength(MAX_WAITING);
  expect(await resendOf(id)).toMatchObject({ state: "stopped", stopReason: "asked" });
});

test.each(["paused", "failures"] as const)(
  "a resend ends when its endpoint is disabled: %s",
  async (disabledReason) => {
    const { endpoint, id } = await begin(60);
    await run();
    const data = { enabled: false, disabledReason };
    await db.database.prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data });
    clock.advance(REST_MS);
    expect(await run()).toBe(0);
    const ended = { state: "stopped", stopReason: "disabled", endedAt: clock.now(), dueAt: null };
    expect(await resendOf(id)).toMatchObject(ended);
    expect(await madeFor(endpoint)).toHaveLength(MAX_WAITING);
  },
);
