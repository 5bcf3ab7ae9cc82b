import { randomUUID } from "node:crypto";
import type { Hint } from "@herald/contracts";
import { eventually } from "@herald/testkit/harness/eventually";
import { insertEndpoint, ROW_TIME } from "@herald/testkit/harness/rows";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import type { IncomingEvent } from "../src/ingest/read-event.ts";
import { storeEvents } from "../src/sql/store-events.ts";
import { statementsThatWait } from "./waiting.ts";

const db = useDatabase();
const NOW = new Date(ROW_TIME.getTime() + 60_000);
const DAY_MS = 24 * 60 * 60_000;
const TIMES = {
  now: NOW,
  windowStart: new Date(NOW.getTime() - 7 * DAY_MS),
  hintGraceUntil: new Date(NOW.getTime() + 30_000),
};

function event(organizationId: string, override: Partial<IncomingEvent> = {}): IncomingEvent {
  const id = override.id ?? randomUUID();
  return {
    organizationId,
    type: "WorkItemCompleted",
    occurredAt: NOW,
    body: JSON.stringify({ id }),
    traceparent: null,
    ...override,
    id,
  };
}

const store = (...events: IncomingEvent[]) => storeEvents(db.database.queries, events, TIMES);
const deliveriesOf = (endpointId: string) => db.database.prisma.delivery.findMany({ where: { endpointId } });

test("an event becomes one pending delivery for each endpoint that wants it, with a hint each", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const first = await insertEndpoint(prisma, { organizationId });
  const second = await insertEndpoint(prisma, { organizationId, events: ["RiskCreated", "WorkItemCompleted"] });
  const one = event(organizationId);
  const hints = await store(one);
  expect(hints.map(({ endpointId }) => endpointId).sort()).toEqual([first.id, second.id].sort());
  expect(await deliveriesOf(first.id)).toMatchObject([
    {
      id: hints.find(({ endpointId }) => endpointId === first.id)?.deliveryId,
      organizationId,
      businessEventId: one.id,
      eventType: "WorkItemCompleted",
      body: null,
      state: "pending",
      attemptCount: 0,
      nextAttemptAt: TIMES.hintGraceUntil,
      createdAt: NOW,
    },
  ]);
  expect(await prisma.businessEvent.findMany({ where: { organizationId } })).toMatchObject([
    { id: one.id, body: one.body },
  ]);
});

test.each<[string, Parameters<typeof insertEndpoint>[1], Partial<IncomingEvent>]>([
  ["§6/names another event's subscription", { events: ["RiskCreated"] }, {}],
  ["§3.1/pause a disabled endpoint", { enabled: false }, {}],
  [
    "§6.1/creation an endpoint created after the event",
    { createdAt: NOW },
    { occurredAt: new Date(NOW.getTime() - 1) },
  ],
  [
    "§6.1/window an event older than seven days",
    { createdAt: new Date(NOW.getTime() - 30 * DAY_MS) },
    { occurredAt: new Date(TIMES.windowStart.getTime() - 1) },
  ],
  ["another organization's endpoint", { organizationId: "someone-else" }, {}],
])("there is no delivery for %s, though the event is stored", async (_name, endpointRow, eventRow) => {
  const organizationId = randomUUID();
  const endpoint = await insertEndpoint(db.database.prisma, { organizationId, ...endpointRow });
  expect(await store(event(organizationId, eventRow))).toEqual([]);
  expect(await deliveriesOf(endpoint.id)).toEqual([]);
  expect(await db.database.prisma.businessEvent.count({ where: { organizationId } })).toBe(1);
});

test("the same event a hundred times at once makes one delivery an endpoint", async () => {
  const organizationId = randomUUID();
  const endpoints = [
    await insertEndpoint(db.database.prisma, { organizationId }),
    await insertEndpoint(db.database.prisma, { organizationId }),
  ];
  const one = event(organizationId);
  // Half of them in batches of their own, half of them together.
  await Promise.all([...Array.from({ length: 50 }, () => store(one)), store(...Array.from({ length: 50 }, () => one))]);
  for (const { id } of endpoints) expect(await deliveriesOf(id)).toHaveLength(1);
});

test("an event that comes again gives the hints of its untouched deliveries again, and changes nothing", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const untouched = await insertEndpoint(prisma, { organizationId });
  const attempted = await insertEndpoint(prisma, { organizationId });
  const one = event(organizationId);
  const hints = await store(one);
  await prisma.delivery.updateMany({ where: { endpointId: attempted.id }, data: { attemptCount: 1 } });
  const again = await store({ ...one, body: "another body", type: "RiskCreated" });
  expect(again).toEqual(hints.filter(({ endpointId }) => endpointId === untouched.id));
  expect(await prisma.businessEvent.findMany({ where: { organizationId } })).toMatchObject([
    { body: one.body, type: one.type },
  ]);
});

test("the same id in two organizations is two events", async () => {
  const id = randomUUID();
  const endpoints = [await insertEndpoint(db.database.prisma), await insertEndpoint(db.database.prisma)];
  await store(...endpoints.map(({ organizationId }) => event(organizationId, { id })));
  for (const endpoint of endpoints) expect(await deliveriesOf(endpoint.id)).toHaveLength(1);
});

test("an endpoint that is deleted during the fan-out gets nothing, and the other endpoints get their deliveries", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const deleted = await insertEndpoint(prisma, { organizationId });
  const kept = await insertEndpoint(prisma, { organizationId });
  let storing: Promise<Hint[]> | undefined;
  await prisma.$transaction(async (transaction) => {
    await transaction.webhookEndpoint.delete({ where: { id: deleted.id } });
    storing = store(event(organizationId));
    await eventually(async () => expect(await statementsThatWait(prisma)).toBe(1));
  });
  expect(await storing).toMatchObject([{ endpointId: kept.id }]);
  expect(await prisma.businessEvent.count({ where: { organizationId } })).toBe(1);
});

test("batches that hold the same events in different orders do not deadlock", async () => {
  const organizationId = randomUUID();
  const { id } = await insertEndpoint(db.database.prisma, { organizationId });
  for (let round = 1; round <= 5; round++) {
    const events = Array.from({ length: 200 }, () => event(organizationId));
    await Promise.all([store(...events), store(...events.toReversed()), store(...events)]);
    expect(await deliveriesOf(id)).toHaveLength(round * 200);
  }
});
