import { eventually } from "@herald/testkit/harness/eventually";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ publisher: false });
const HOUR_MS = 60 * 60_000;

test("§8/polling a publisher whose clock is ahead of the dispatcher's delays a burst by that much at the most", async () => {
  const { api, receiver, emitter, clock, herald, db } = environment;
  await herald.startPublisher({ clock: steeredClock(new Date(clock.now().getTime() + 5_000)) });
  const { endpoint } = await api.create({ url: receiver.url });
  // More than the endpoint has slots.
  await Promise.all(Array.from({ length: 60 }, () => emitter.emit(environment.event())));
  const { organizationId } = api;
  await eventually(async () => expect(await db.database.prisma.delivery.count({ where: { organizationId } })).toBe(60));
  clock.advance(5_000);
  await receiver.received(60);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 60 }));
});

test("a clock that jumps an hour back holds up nothing that is new, and sends nothing twice", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await herald.startPublisher();
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith(({ body }) => ({ status: body.includes("RiskCreated") ? 200 : 500 }));
  await emitter.emit(environment.event());
  await receiver.received(1);
  await environment.settled();
  const before = clock.now();
  const occurredAtUtc = before.toISOString();
  clock.set(new Date(before.getTime() - HOUR_MS));
  await api.edit(endpoint.id, { events: ["RiskCreated", "WorkItemCompleted"] });
  for (let index = 0; index < 30; index++) {
    await emitter.emit(environment.event({ type: "RiskCreated", occurredAtUtc }));
  }
  await receiver.received(31);
  await environment.settled();
  expect(await environment.states(endpoint.id)).toEqual({ succeeded: 30, pending: 1 });
  expect(await api.deliver(endpoint.id, "RiskCreated", '"RiskCreated"')).toMatchObject({ succeeded: true });

  // The retry keeps the time that it was given.
  receiver.answerWith({ status: 200 });
  await environment.advanceToNextAttempts(endpoint.id);
  expect(clock.now().getTime()).toBeGreaterThanOrEqual(before.getTime() + 60_000);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 32 }));
  expect(receiver.requests).toHaveLength(33);
});

test("a clock that jumps ahead while attempts are under way repeats them at the worst, and their results count", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await herald.startPublisher();
  const { endpoint } = await api.create({ url: receiver.url });
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  // The first attempt takes until the others are through.
  receiver.answerWith(async (_request, index) => {
    if (index === 0) await answered;
    return { status: index === 0 ? 200 : 500 };
  });
  await emitter.emit(environment.event());
  await receiver.received(1);
  clock.advance(HOUR_MS);
  await receiver.received(2);
  await eventually(async () =>
    expect((await api.get(endpoint.id)).deliveries).toMatchObject([{ attemptCount: 1, statusCode: 500 }]),
  );
  answer();
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 1 }));
  await eventually(async () =>
    expect(await api.get(endpoint.id)).toMatchObject({
      consecutiveFailures: 0,
      deliveries: [{ succeeded: true, statusCode: 200 }],
    }),
  );
});
