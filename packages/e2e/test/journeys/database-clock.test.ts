import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ publisher: false });
const HOUR_MS = 60 * 60_000;

test("PostgreSQL's clock that jumps an hour back holds up nothing that is new, and sends nothing twice", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await herald.startPublisher();
  const { endpoint: failing } = await api.create({ url: `${receiver.url}/failing` });
  const { endpoint } = await api.create({ url: receiver.url, events: ["RiskCreated"] });
  receiver.answerWith(({ path }) => ({ status: path === "/failing" ? 500 : 200 }));
  await emitter.emit(environment.event());
  await receiver.received(1);
  await environment.settled();
  const before = clock.now();
  const occurredAtUtc = before.toISOString();
  clock.set(new Date(before.getTime() - HOUR_MS));
  await api.edit(endpoint.id, { name: "Edited by a clock that was set back" });
  for (let index = 0; index < 30; index++) {
    await emitter.emit(environment.event({ type: "RiskCreated", occurredAtUtc }));
  }
  await receiver.received(31);
  await environment.settled();
  expect(await environment.states(endpoint.id)).toEqual({ succeeded: 30 });
  expect(await environment.states(failing.id)).toEqual({ pending: 1 });
  expect(await api.deliver(endpoint.id, "RiskCreated", '"RiskCreated"')).toMatchObject({ succeeded: true });

  // The retry keeps the time that it was given.
  receiver.answerWith({ status: 200 });
  await environment.advanceToNextAttempts(failing.id);
  expect(clock.now().getTime()).toBeGreaterThanOrEqual(before.getTime() + 60_000);
  await eventually(async () => expect(await environment.states(failing.id)).toEqual({ succeeded: 1 }));
  expect(receiver.requests).toHaveLength(33);
});

test("PostgreSQL's clock that jumps ahead while an attempt is under way repeats nothing, and its result counts", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await herald.startPublisher();
  const { endpoint } = await api.create({ url: receiver.url });
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  receiver.answerWith(async () => {
    await answered;
    return { status: 200 };
  });
  await emitter.emit(environment.event());
  await receiver.received(1);
  clock.advance(HOUR_MS);
  // What comes later has passed it.
  await emitter.emit(environment.event());
  await receiver.received(2);
  answer();
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 2 }));
  expect((await api.get(endpoint.id)).deliveries.map(({ attemptCount }) => attemptCount)).toEqual([1, 1]);
  expect(receiver.requests).toHaveLength(2);
});
