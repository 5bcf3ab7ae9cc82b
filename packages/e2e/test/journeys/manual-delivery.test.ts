import { eventually } from "@herald/testkit/harness/eventually";
import { describe, expect, test } from "@jest/globals";
import { useJourney } from "./test-environment.ts";

describe("while no dispatcher is there", () => {
  const journey = useJourney({ dispatcher: false, settings: { MANUAL_DELIVERY_TIMEOUT_MS: "500" } });

  test("§4.1/deliver a manual delivery is a 200 without an attempt, which comes later", async () => {
    const { api, receiver, herald, clock } = journey;
    const { endpoint } = await api.create({ url: receiver.url });
    expect(await api.deliver(endpoint.id, "WorkItemCompleted", '"later"')).toMatchObject({
      attemptCount: 0,
      statusCode: null,
      succeeded: false,
      errorSummary: null,
      attemptedAtUtc: null,
    });
    await herald.startDispatcher();
    clock.advance(31_000);
    const [request] = await receiver.received(1);
    expect(request?.body.toString()).toBe('"later"');
    await journey.settled();
    expect(await journey.states(endpoint.id)).toEqual({ succeeded: 1 });
    expect(receiver.requests).toHaveLength(1);
  });
});

describe("while others wait", () => {
  const journey = useJourney({ dispatcher: false });

  test("§3.1/pause an endpoint that is paused between the request and its attempt gets nothing until it is resumed", async () => {
    const { api, receiver, herald } = journey;
    const { endpoint } = await api.create({ url: receiver.url });
    const delivering = api.deliver(endpoint.id, "WorkItemCompleted", "{}");
    await eventually(async () => expect(await journey.states(endpoint.id)).toEqual({ pending: 1 }));
    await api.edit(endpoint.id, { enabled: false });
    await herald.startDispatcher();
    expect(await delivering).toMatchObject({ attemptCount: 0, succeeded: false });
    expect(await journey.states(endpoint.id)).toEqual({ parked: 1 });
    expect(receiver.requests).toHaveLength(0);
    await api.edit(endpoint.id, { enabled: true });
    await receiver.received(1);
    await eventually(async () => expect(await journey.states(endpoint.id)).toEqual({ succeeded: 1 }));
  });

  test("a manual delivery doesn't queue behind an endpoint's own events", async () => {
    const { api, receiver, emitter, herald } = journey;
    await herald.startDispatcher();
    const { endpoint } = await api.create({ url: receiver.url });
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    receiver.answerWith(async ({ body }) => {
      if (body.toString() !== "{}") await answered;
      return { status: 200 };
    });
    await Promise.all(Array.from({ length: 25 }, () => emitter.emit(journey.event())));
    await receiver.received(10);
    expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
    expect(await journey.states(endpoint.id)).toEqual({ pending: 25, succeeded: 1 });
    answer();
    await eventually(async () => expect(await journey.states(endpoint.id)).toEqual({ succeeded: 26 }));
  });
});
