import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

test("two publishers, two dispatchers and two APIs deliver once what one of each would", async () => {
  const { api, receiver, emitter, herald } = environment;
  await Promise.all([herald.startPublisher(), herald.startDispatcher()]);
  const otherApi = await apiClient((await herald.startApi()).apiUrl, api.organizationId, { untilAvailable: true });
  const first = await api.create({ url: `${receiver.url}/first` });
  const second = await otherApi.create({ url: `${receiver.url}/second` });
  // The second one fails its first attempts, is paused and resumed, and so its deliveries come by every source.
  receiver.answerWith(({ path }) => ({ status: path === "/second" ? 500 : 200 }));
  const events = Array.from({ length: 60 }, () => environment.event());
  const emitted = events.flatMap((event) => [emitter.emit(event), emitter.emit(event)]);
  await Promise.all(emitted);
  for (const failures of [1, 2, 3, 4]) await environment.rested(second.endpoint.id, failures);
  await eventually(async () => expect((await otherApi.get(second.endpoint.id)).enabled).toBe(false));
  await eventually(async () => expect(await environment.outcomes(first.endpoint.id)).toEqual({ succeeded: 60 }));
  await environment.settled();
  receiver.answerWith({ status: 200 });
  const failed = receiver.requests.filter(({ path }) => path === "/second").length;
  await api.edit(second.endpoint.id, { enabled: true });
  await environment.advanceToNextAttempts(second.endpoint.id);
  await eventually(async () => expect(await environment.outcomes(second.endpoint.id)).toEqual({ succeeded: 60 }));

  const arrived = receiver.requests.map(({ path, body }) => `${path} ${JSON.parse(body.toString()).id}`);
  expect(arrived.filter((one) => one.startsWith("/first")).sort()).toEqual(
    events.map(({ id }) => `/first ${id}`).sort(),
  );
  expect(arrived.filter((one) => one.startsWith("/second"))).toHaveLength(60 + failed);
  expect(await api.list()).toEqual(await otherApi.list());
});
