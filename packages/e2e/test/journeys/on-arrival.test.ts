import { Prisma } from "@herald/common/database/generated/client";
import { eventually } from "@herald/dev/harness/eventually";
import { whileLocked } from "@herald/dev/harness/use-database";
import { createEmitter } from "@herald/emitter";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

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
