import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false });

test("§4.1/deliver while there is no dispatcher a manual delivery is a 200 without an attempt, which comes later", async () => {
  const { receiver, herald } = environment;
  const { apiUrl } = await herald.startApi({}, { manualTimeoutMs: 500 });
  const api = await apiClient(apiUrl, environment.api.organizationId, { untilAvailable: true });
  const { endpoint } = await api.create({ url: receiver.url });
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", '"later"')).toMatchObject({
    attemptCount: 0,
    statusCode: null,
    succeeded: false,
    errorSummary: null,
    attemptedAtUtc: null,
  });
  await environment.advanceToNextAttempts(endpoint.id);
  await herald.startDispatcher();
  const [request] = await receiver.received(1);
  expect(request?.body.toString()).toBe('"later"');
  await environment.settled();
  expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 1 });
  expect(receiver.requests).toHaveLength(1);
});

test("§3.1/pause an endpoint that is paused between a manual delivery's request and its attempt gets nothing until it is resumed", async () => {
  const { api, receiver, herald } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const delivering = api.deliver(endpoint.id, "WorkItemCompleted", "{}");
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ waiting: 1 }));
  await api.edit(endpoint.id, { enabled: false });
  await herald.startDispatcher();
  expect(await delivering).toMatchObject({ attemptCount: 0, succeeded: false });
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ parked: 1 }));
  expect(receiver.requests).toHaveLength(0);
  await api.edit(endpoint.id, { enabled: true });
  // The seconds in which it was left to the request that waited for it.
  await environment.advanceToNextAttempts(endpoint.id);
  await receiver.received(1);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 1 }));
});

test("a manual delivery doesn't queue behind an endpoint's own events", async () => {
  const { api, receiver, emitter, herald } = environment;
  await herald.startDispatcher();
  const { endpoint } = await api.create({ url: receiver.url });
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  receiver.answerWith(async ({ body }) => {
    if (body.toString() !== "{}") await answered;
    return { status: 200 };
  });
  await Promise.all(Array.from({ length: 25 }, () => emitter.emit(environment.event())));
  await receiver.received(10);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ waiting: 25 }));
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
  expect(await environment.outcomes(endpoint.id)).toEqual({ waiting: 25, succeeded: 1 });
  answer();
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 26 }));
});
