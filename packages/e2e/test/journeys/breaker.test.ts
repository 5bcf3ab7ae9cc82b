import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

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
  const { promise: failing, resolve: fail } = Promise.withResolvers<void>();
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

test("a receiver that is away for ten seconds while events keep coming has three failures at the most, and gets them all", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ fault: "reset" });
  // An attempt at the begin, after one second, and after five more. The pause of fifteen seconds outlasts the rest.
  for (const failures of [1, 2, 2, 2, 2, 2, 3, 3, 3, 3]) {
    await emitter.emit(environment.event());
    await eventually(async () => expect((await api.get(endpoint.id)).consecutiveFailures).toBe(failures));
    clock.advance(SECOND_MS);
  }
  receiver.answerWith({ status: 200 });
  clock.advance(12 * SECOND_MS);
  await emitter.emit(environment.event());
  await eventually(async () => expect((await api.get(endpoint.id)).consecutiveFailures).toBe(0));
  clock.advance(MINUTE_MS);
  await arrived(endpoint.id, 11);
});
