import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const DAY_MS = 24 * 60 * 60_000;
// Shorter than what is caught up.
const environment = useTestEnvironment({ settings: { RETENTION_DAYS: "1", RETENTION_INTERVAL_SECONDS: "1" } });

test("what was delivered is not delivered again when its history is gone, and not within the seven days", async () => {
  const { api, receiver, emitter, clock, db } = environment;
  // What is old by PostgreSQL's clock too: it can't be steered, and no clock alone erases anything.
  clock.set(new Date(Date.now() - 20 * DAY_MS));
  const { endpoint } = await api.create({ url: receiver.url });
  await emitter.emit(environment.event());
  await receiver.received(1);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 1 }));

  for (const days of [2, 4, 8]) {
    clock.advance(days * DAY_MS);
    // A manual delivery, older than the other one, says when a retention pass has been here since.
    const where = { endpointId: endpoint.id, body: "{}" };
    const createdAt = new Date(clock.now().getTime() - 30 * DAY_MS);
    const old = { id: "00000000-0000-7000-8000-000000000001", state: "succeeded" as const, createdAt };
    await db.database.prisma.delivery.create({
      data: { ...where, ...old, organizationId: api.organizationId, eventType: "RiskCreated" },
    });
    await eventually(async () => expect(await db.database.prisma.delivery.count({ where })).toBe(0));
    await api.edit(endpoint.id, { enabled: false });
    await api.edit(endpoint.id, { enabled: true });
    await environment.caughtUp(endpoint.id);
    const pending = await db.database.prisma.delivery.count({ where: { endpointId: endpoint.id, state: "pending" } });
    expect({ days, pending }).toEqual({ days, pending: 0 });
  }
  expect(await environment.states(endpoint.id)).toEqual({});
  expect(receiver.requests).toHaveLength(1);
});
