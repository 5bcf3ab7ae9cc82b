import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryDetails } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

let passing: NodeJS.Timeout | undefined;
afterEach(() => clearInterval(passing));

/** Every event has arrived, and the endpoint is well. */
async function arrived(endpointId: string, count: number): Promise<void> {
  await eventually(async () => expect(await environment.states(endpointId)).toEqual({ succeeded: count }));
  await eventually(async () =>
    expect(await environment.api.get(endpointId)).toMatchObject({ enabled: true, consecutiveFailures: 0 }),
  );
}

test("§3.1/failures five events at once to a receiver that is away for ten seconds are one failure, and all five arrive", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const back = clock.now().getTime() + 10 * SECOND_MS;
  let fail = () => {};
  const failing = new Promise<void>((resolve) => {
    fail = resolve;
  });
  receiver.answerWith(async () => {
    await failing;
    return clock.now().getTime() < back ? { fault: "reset" } : { status: 200 };
  });
  await Promise.all(Array.from({ length: 5 }, () => emitter.emit(environment.event())));
  await receiver.received(5);
  fail();
  await environment.settled();
  await environment.rested(endpoint.id, 1);
  expect((await api.get(endpoint.id)).enabled).toBe(true);
  clock.set(new Date(back));
  await environment.advanceToNextAttempts(endpoint.id);
  await arrived(endpoint.id, 5);
});

test("a receiver that is away for ten seconds while events keep coming has four failures at the most, and gets them all", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ fault: "reset" });
  // An attempt at the begin, after one second, after two more, and after four more. The pause of eight seconds outlasts the rest.
  for (const failures of [1, 2, 2, 3, 3, 3, 3, 4, 4, 4]) {
    await emitter.emit(environment.event());
    await eventually(async () => expect((await api.get(endpoint.id)).consecutiveFailures).toBe(failures));
    clock.advance(SECOND_MS);
  }
  receiver.answerWith({ status: 200 });
  clock.advance(5 * SECOND_MS);
  await emitter.emit(environment.event());
  await eventually(async () => expect((await api.get(endpoint.id)).consecutiveFailures).toBe(0));
  clock.advance(MINUTE_MS);
  await arrived(endpoint.id, 11);
});

test("a receiver that answers 503 with Retry-After is left alone for so long, its retries and its new events", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 503, headers: { "retry-after": "120" } });
  await emitter.emit(environment.event());
  await receiver.received(1);
  await environment.settled();
  const [delivery] = (await api.get(endpoint.id)).deliveries;
  const { attempts, nextAttemptAtUtc } = await api.read<DeliveryDetails>(`/${endpoint.id}/deliveries/${delivery?.id}`);
  const endedAt = Date.parse(attempts[0]?.attemptedAtUtc ?? "") + (attempts[0]?.durationMs ?? 0);
  expect(Date.parse(nextAttemptAtUtc ?? "") - endedAt).toBe(2 * MINUTE_MS);

  receiver.answerWith({ status: 200 });
  clock.advance(MINUTE_MS);
  await emitter.emit(environment.event());
  // A fixed time, to see that nothing comes: some due scans pass meanwhile.
  await sleep(300);
  expect(receiver.requests).toHaveLength(1);
  await environment.rested(endpoint.id, 1);
  await arrived(endpoint.id, 2);
});

test("a manual delivery does not wait for the pause, and its success ends it for all", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  await emitter.emit(environment.event());
  await eventually(async () => expect((await api.get(endpoint.id)).consecutiveFailures).toBe(1));
  receiver.answerWith({ status: 200 });
  await emitter.emit(environment.event());
  // A fixed time, to see that nothing comes.
  await sleep(300);
  expect(receiver.requests).toHaveLength(1);
  const summary = await api.deliver(endpoint.id, "WorkItemCompleted", "{}");
  expect(summary).toMatchObject({ attemptCount: 1, succeeded: true });
  // The clock has not moved.
  await receiver.received(3);
  await environment.advanceToNextAttempts(endpoint.id);
  await arrived(endpoint.id, 3);
});

test("with four dispatchers, a receiver that refuses everything for almost a second has one failure, and few requests", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await Promise.all([herald.startDispatcher(), herald.startDispatcher(), herald.startDispatcher()]);
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  const end = clock.now().getTime() + 0.9 * SECOND_MS;
  // Time passes, so that attempts of different dispatchers do follow one another.
  passing = setInterval(() => clock.set(new Date(Math.min(clock.now().getTime() + 2, end))), 5);
  for (let emitted = 0; emitted < 60; emitted++) await emitter.emit(environment.event());
  await eventually(() => expect(clock.now().getTime()).toBe(end));
  await environment.settled();
  expect(await api.get(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 1 });
  // Ten at once, and quick looks: of one dispatcher, and of another one where the first of them has only just joined.
  expect(receiver.requests.length).toBeLessThanOrEqual(20);

  clearInterval(passing);
  receiver.answerWith({ status: 200 });
  clock.advance(SECOND_MS);
  await eventually(async () => expect((await api.get(endpoint.id)).consecutiveFailures).toBe(0));
  clock.advance(MINUTE_MS);
  await arrived(endpoint.id, 60);
});
