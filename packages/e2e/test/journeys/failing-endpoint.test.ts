import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery } from "@herald/dev/harness/rows";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();
test("§3.1/several §3.1/failures §8/disabling §3.1/resume §6.4 five failures over several deliveries disable; nothing more is sent; a resume sends what was left and what happened meanwhile", async () => {
  const { api, receiver, emitter, clock, db } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 503 });

  // Three deliveries: three first attempts, then two of their retries make five failures.
  const failing = [environment.event(), environment.event(), environment.event()];
  for (const [index, event] of failing.entries()) {
    await emitter.emit(event);
    await environment.rested(endpoint.id, index + 1);
  }
  expect(await api.get(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 3 });
  await environment.advanceToNextAttempts(endpoint.id);
  await environment.rested(endpoint.id, 4);
  const disabled = await eventually(async () => {
    const found = await api.get(endpoint.id);
    expect(found.enabled).toBe(false);
    return found;
  });
  expect(disabled.consecutiveFailures).toBe(5);
  expect(disabled.version).not.toBe(endpoint.version);
  await environment.settled();

  // One at five attempts, from before, stays as it is.
  const { organizationId } = api;
  const exhausted = { state: "exhausted", attemptCount: 5, createdAt: clock.now() } as const;
  await insertDelivery(db.database.prisma, { id: endpoint.id, organizationId }, exhausted);

  const sent = receiver.requests.length;
  const meanwhile = [environment.event(), environment.event()];
  for (const event of meanwhile) await emitter.emit(event);
  await eventually(async () =>
    expect(await db.database.prisma.businessEvent.count({ where: { organizationId } })).toBe(5),
  );
  clock.advance(20 * 60_000);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ parked: 3, exhausted: 1 }));
  expect(receiver.requests).toHaveLength(sent);

  receiver.answerWith({ status: 200 });
  const resumed = await api.edit(endpoint.id, { enabled: true });
  expect(resumed.endpoint).toMatchObject({ enabled: true, consecutiveFailures: 0 });
  await receiver.received(sent + 5);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 5, exhausted: 1 }));
  const ids = receiver.requests.slice(sent).map(({ body }) => JSON.parse(body.toString()).id);
  expect(ids.sort()).toEqual([...failing, ...meanwhile].map(({ id }) => id).sort());
  expect((await api.get(endpoint.id)).enabled).toBe(true);
});
