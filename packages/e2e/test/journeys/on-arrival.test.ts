import { randomUUID } from "node:crypto";
import { Prisma } from "@herald/common/database/generated/client";
import { deliveryId, eventKey } from "@herald/common/database/ids";
import { shardOf } from "@herald/common/database/shards";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/dev/harness/eventually";
import { answered, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase, whileLocked } from "@herald/dev/harness/use-database";
import { createMetrics } from "@herald/dispatcher/metrics";
import { createSettleQueue } from "@herald/dispatcher/settle/settle-queue";
import type { ArrivedSettlement } from "@herald/dispatcher/sql/record-arrived";
import { createEmitter } from "@herald/emitter";
import { FIRST_ENDPOINT, storeEvents } from "@herald/publisher/sql/store-events";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { useTestEnvironment } from "./test-environment.ts";

const db = useDatabase();

const NOW = new Date(ROW_TIME.getTime() + 60_000);
const RETRY_AT = new Date(NOW.getTime() + 30_000);
/** Nobody has taken a shard in these tests. */
const EPOCH = 0n;

type Event = ReturnType<typeof eventOf>;
type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

/** How the first attempt of a delivery ended that was handed over on arrival. */
const ENDINGS = ["succeeded", "failed", "given up", "late"] as const;
type Ending = (typeof ENDINGS)[number];

function eventOf(organizationId: string) {
  const id = randomUUID();
  return {
    organizationId,
    key: eventKey(organizationId, id, NOW),
    id,
    type: "WorkItemCompleted",
    entityId: randomUUID(),
    occurredAt: NOW,
    receivedAt: NOW,
    body: JSON.stringify({ id }),
    traceparent: null,
  };
}

const store = (events: readonly Event[]) =>
  storeEvents(
    db.database.queries,
    events.map((event) => ({ event, afterEndpointId: FIRST_ENDPOINT, maxEndpoints: 100 })),
    NOW,
  );

/** Settles in one batch, as a dispatcher does. */
async function record(settlements: readonly ArrivedSettlement[]): Promise<void> {
  const health = { add() {}, has: () => false, drained: async () => {} };
  const log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };
  const metrics = createMetrics(createRegistry("test"));
  const { signal } = new AbortController();
  const { settle } = createSettleQueue({
    queries: db.database.queries,
    createProgress: db.database.failures.createProgress,
    clock: steeredClock(NOW),
    metrics,
    health,
    rates: { add() {}, stop: async () => {} },
    log,
    signal,
  });
  await Promise.all(settlements.map((each) => settle(each, false)));
}

function ended({ key, organizationId, type }: Event, endpoint: Endpoint, ending: Ending): ArrivedSettlement {
  const succeeded = ending === "succeeded";
  return {
    deliveryId: deliveryId(key, endpoint.id),
    endpointId: endpoint.id,
    // "late": its shard has had another owner since.
    epoch: Number(EPOCH) - (ending === "late" ? 1 : 0),
    attempt: 1,
    revision: endpoint.revision,
    startedAt: NOW,
    durationMs: 7,
    ...answered(succeeded),
    nextAttemptAt: succeeded || ending === "given up" ? null : RETRY_AT,
    unstored: { createdAt: NOW, organizationId, eventKey: key, eventType: type },
  };
}

/** The rows of a delivery in the end. */
async function rowsOf(id: string) {
  const { prisma } = db.database;
  const delivery = await prisma.delivery.findUnique({ where: { id } });
  const due = await prisma.due.findMany({ where: { deliveryId: id } });
  return {
    delivery: delivery && {
      state: delivery.state,
      attempts: delivery.attemptCount,
      statusCode: delivery.statusCode,
      nextAttemptAt: delivery.nextAttemptAt,
      createdAt: delivery.createdAt,
      eventKey: delivery.eventKey,
    },
    due: due.map(({ dueAt, attempts }) => ({ dueAt, attempts })),
  };
}

/** The model: whatever came first, and however often. */
function expectedOf({ key: eventKey }: Event, ending: Ending | undefined) {
  const made = { createdAt: NOW, eventKey };
  switch (ending) {
    case "succeeded":
      return { delivery: { state: "succeeded", attempts: 1, statusCode: 204, nextAttemptAt: null, ...made }, due: [] };
    case "failed":
      return {
        delivery: { state: "pending", attempts: 1, statusCode: 500, nextAttemptAt: RETRY_AT, ...made },
        due: [{ dueAt: RETRY_AT, attempts: 1 }],
      };
    case "given up":
      return { delivery: { state: "exhausted", attempts: 1, statusCode: 500, nextAttemptAt: null, ...made }, due: [] };
    default:
      return {
        delivery: { state: "pending", attempts: 0, statusCode: null, nextAttemptAt: null, ...made },
        due: [{ dueAt: NOW, attempts: 0 }],
      };
  }
}

test.each(["before", "after"])(
  "§3.2/retry regression: two publishers get one event at two moments, and the result that is written %s the event is stored counts",
  async (order) => {
    const organizationId = randomUUID();
    const endpoint = await insertEndpoint(db.database.prisma, { organizationId });
    const events = Array.from({ length: 20 }, () => eventOf(organizationId));
    // The owner has what the first one handed over, and PostgreSQL what the other one stored.
    const store40MsLater = () => store(events.map((event) => ({ ...event, receivedAt: new Date(NOW.getTime() + 40) })));
    const recordAll = () =>
      record(events.map((event, index) => ended(event, endpoint, index % 2 === 0 ? "failed" : "succeeded")));
    for (const step of order === "after" ? [store40MsLater, recordAll] : [recordAll, store40MsLater]) await step();
    for (const [index, event] of events.entries()) {
      const { delivery, due } = await rowsOf(deliveryId(event.key, endpoint.id));
      const hasFailed = index % 2 === 0;
      expect(delivery).toMatchObject({ state: hasFailed ? "pending" : "succeeded", attempts: 1 });
      expect(due).toEqual(hasFailed ? [{ dueAt: RETRY_AT, attempts: 1 }] : []);
    }
  },
);

const EVENTS = 3;
const ENDPOINTS = 2;

test("§4 whichever comes first, the publisher's statement or the owner's, or both at once, each delivery is stored once, with its result", async () => {
  const { prisma } = db.database;
  const subset = (count: number) => fc.subarray(Array.from({ length: count }, (_, index) => index));
  const step = fc.record({ store: subset(EVENTS), record: subset(EVENTS * ENDPOINTS), atOnce: fc.boolean() });
  const endings = fc.array(fc.option(fc.constantFrom(...ENDINGS), { nil: undefined }), {
    minLength: EVENTS * ENDPOINTS,
    maxLength: EVENTS * ENDPOINTS,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 4 }), endings, async (steps, endings) => {
      const organizationId = randomUUID();
      const endpoints: Endpoint[] = [];
      for (let count = 0; count < ENDPOINTS; count++) endpoints.push(await insertEndpoint(prisma, { organizationId }));
      const events = Array.from({ length: EVENTS }, () => eventOf(organizationId));
      const deliveries = events.flatMap((event) => endpoints.map((endpoint) => ({ event, endpoint })));
      const recorded = deliveries.map(({ event, endpoint }, index) => {
        const ending = endings[index];
        return ending && ended(event, endpoint, ending);
      });
      // In the end, all has been written at least once.
      const last = { store: events.keys(), record: deliveries.keys(), atOnce: true };
      for (const { store: stored, record: results, atOnce } of [...steps, last]) {
        const storing = () => store([...stored].map((index) => events[index] as Event));
        const recording = () => record([...results].flatMap((index) => recorded[index] ?? []));
        if (atOnce) await Promise.all([storing(), recording()]);
        else {
          await recording();
          await storing();
        }
      }
      for (const [index, { event, endpoint }] of deliveries.entries()) {
        const rows = await rowsOf(deliveryId(event.key, endpoint.id));
        expect([endings[index], rows]).toEqual([endings[index], expectedOf(event, endings[index])]);
      }
      const givenUp = endings.filter((ending) => ending === "given up").length;
      const counted = await prisma.$queryRaw<{ sum: bigint | null }[]>`
        select sum(deliveries) from exhaustion where organization_id = ${organizationId}`;
      expect(Number(counted[0]?.sum ?? 0)).toBe(givenUp);
    }),
    { numRuns: 60 },
  );
});

test("a result waits for a publisher's statement under way, and is written after it; others do not wait", async () => {
  const { prisma } = db.database;
  const [endpoint, other] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
  const event = eventOf(endpoint.organizationId);
  const settlement = ended(event, endpoint, "succeeded");
  const otherEvent = eventOf(other.organizationId);
  const another = ended(otherEvent, other, "succeeded");
  let recording: Promise<void> | undefined;
  await prisma.$transaction(async (transaction) => {
    await transaction.delivery.create({
      data: {
        id: settlement.deliveryId,
        endpointId: endpoint.id,
        organizationId: endpoint.organizationId,
        eventKey: event.key,
        eventType: event.type,
        createdAt: NOW,
      },
    });
    await transaction.due.create({
      data: { shard: shardOf(endpoint.id), endpointId: endpoint.id, dueAt: NOW, deliveryId: settlement.deliveryId },
    });
    recording = record([settlement, another]);
    await eventually(async () => expect(await rowsOf(another.deliveryId)).toEqual(expectedOf(otherEvent, "succeeded")));
  });
  await recording;
  expect(await rowsOf(settlement.deliveryId)).toEqual(expectedOf(event, "succeeded"));
});

describe("with all of Herald", () => {
  const environment = useTestEnvironment();
  const arrivedIds = () => environment.receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);

  /** An endpoint that publisher and owner know, since it has had an event. */
  async function knownEndpoint() {
    const { api, receiver, emitter } = environment;
    const { endpoint } = await api.create({ url: receiver.url });
    await emitter.emit(environment.event());
    await receiver.received(1);
    await environment.settled();
    return endpoint;
  }

  /** Until the task has ended, PostgreSQL stores no event. */
  async function withoutEvents(task: () => Promise<void>): Promise<void> {
    await whileLocked(environment.db.database.prisma, Prisma.sql`lock table business_event in exclusive mode`, task);
  }

  test("an event is attempted, and its delivery stored, while PostgreSQL does not take the event", async () => {
    const { api, receiver, emitter, db } = environment;
    const { prisma } = db.database;
    const { id: endpointId } = await knownEndpoint();
    const event = environment.event();
    const stored = () => prisma.businessEvent.count({ where: { organizationId: api.organizationId } });
    await withoutEvents(async () => {
      await emitter.emit(event);
      await receiver.received(2);
      await eventually(async () => expect(await environment.outcomes(endpointId)).toEqual({ succeeded: 2 }));
      expect(await stored()).toBe(1);
    });
    await eventually(async () => expect(await stored()).toBe(2));
    await environment.settled();
    expect(await prisma.due.count({ where: { endpointId } })).toBe(0);
    expect(await environment.outcomes(endpointId)).toEqual({ succeeded: 2 });
    expect(arrivedIds().filter((id) => id === event.id)).toHaveLength(1);
  });

  test("§6 the same event, twice at once and again a moment later, by two connections, is one request", async () => {
    const { receiver, emitter, servers } = environment;
    await knownEndpoint();
    const other = createEmitter({ url: servers.amqpUrl, namespace: servers.namespace });
    try {
      const event = environment.event();
      await Promise.all([emitter.emit(event), other.emit(event), emitter.emit(event)]);
      await receiver.received(2);
      await other.emit(event);
      // The last event has passed everything that came before it.
      const last = environment.event();
      await emitter.emit(last);
      await eventually(async () => expect(arrivedIds()).toContain(last.id));
      await environment.settled();
      expect(arrivedIds().filter((id) => id === event.id)).toHaveLength(1);
    } finally {
      await other.close();
    }
  });
});
