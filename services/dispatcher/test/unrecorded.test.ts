import { randomUUID } from "node:crypto";
import { deliveryId, eventKey } from "@herald/common/database/ids";
import { eventually } from "@herald/dev/harness/eventually";
import { freePort } from "@herald/dev/stack/ports";
import { expect, test } from "@jest/globals";
import { type Endpoint, useDispatchers } from "./dispatchers.ts";

const { db, receiver, start, insertEndpointAt, insertDeliveries, tell } = useDispatchers();

const DAY_MS = 86_400_000;

/** Starts a dispatcher that has delivered to an endpoint, and returns the endpoint and a reader of the dispatcher's metrics. */
async function startKnowing() {
  const port = await freePort();
  await start({ OPERATIONS_PORT: String(port) }, { newOwnerMs: 0, sweepIntervalMs: 50 });
  const endpoint = await insertEndpointAt(receiver.url);
  await insertDeliveries(endpoint, 1);
  await eventually(async () => expect(await db.database.prisma.due.count()).toBe(0));
  async function metric(name: string): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: "close" } });
    return Number(new RegExp(`^${name}\\S* (\\d+)`, "m").exec(await answer.text())?.[1]);
  }
  return { endpoint, metric };
}

interface Claims {
  stored: boolean;
  /** The time of its event. */
  occurredAt?: Date;
  organizationId?: string;
}

/** Hands a delivery over that no publisher has stored. */
async function forge(endpoint: Endpoint, { stored, ...claims }: Claims): Promise<void> {
  const now = new Date();
  const { organizationId = endpoint.organizationId, occurredAt = now } = claims;
  const key = eventKey(organizationId, randomUUID(), occurredAt);
  const { revision } = await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
  const event = { eventType: "WorkItemCompleted", body: '{"forged":true}', traceparent: null, key };
  const delivery = { deliveryId: deliveryId(key, endpoint.id), endpointId: endpoint.id, organizationId, event: 0 };
  await tell(endpoint.id, {
    stored,
    events: [{ ...event, receivedAtUtc: now.toISOString() }],
    deliveries: [{ ...delivery, revision: String(revision), readAtUtc: now.toISOString() }],
    work: [],
  });
}

test.each<[string, Claims, number]>([
  ["that is said to be stored", { stored: true }, 200],
  ["that fails", { stored: true }, 500],
  ["of days that are not kept any more", { stored: true, occurredAt: new Date(Date.now() - 400 * DAY_MS) }, 200],
  ["of another organization's event", { stored: false, organizationId: "another" }, 200],
  ["that PostgreSQL does not take", { stored: false, organizationId: "\u0000" }, 200],
])("a signed delivery that is in no table is counted: one %s", async (_, claims, status) => {
  const { endpoint, metric } = await startKnowing();
  receiver.answerWith({ status });
  await forge(endpoint, claims);
  await receiver.received(2);
  await eventually(async () => expect(await metric("herald_attempts_unrecorded_total")).toBe(1));
  expect(await db.database.prisma.delivery.count()).toBe(1);
});

test.each([
  ["endpoint", { endpoint: true, daysAgo: 0 }, 0],
  ["days", { endpoint: false, daysAgo: 3 }, 0],
  ["row alone", { endpoint: false, daysAgo: 0 }, 1],
])(
  "a delivery that is erased during its attempt, with its %s, counts as unrecorded if both should be there",
  async (_, erased, count) => {
    const { prisma } = db.database;
    const { endpoint, metric } = await startKnowing();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    receiver.answerWith(async () => {
      await answered;
      return { status: 200 };
    });
    const createdAt = new Date(Date.now() - erased.daysAgo * DAY_MS);
    const [id = ""] = await insertDeliveries(endpoint, 1, { createdAt });
    await receiver.received(2);
    await prisma.$transaction([prisma.due.deleteMany(), prisma.delivery.deleteMany({ where: { id } })]);
    if (erased.endpoint) await prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
    answer();
    await eventually(async () => expect(await metric('herald_attempts_total{outcome="succeeded"')).toBe(2));
    expect(await metric("herald_attempts_unrecorded_total")).toBe(count);
  },
);
