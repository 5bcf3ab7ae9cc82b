import type { EventPage } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();
/** By the endpoints' names: the outcome of the event's delivery, or the reason why there is none. */
const fates = ({ events }: EventPage) =>
  events.map(({ endpoints }) =>
    Object.fromEntries(
      endpoints.map(({ endpointName, delivery, reason }) => [endpointName, delivery?.outcome ?? reason]),
    ),
  );

test("the reason why an endpoint lacks an event holds: a change that removes the reason brings the event, and without one the event never comes", async () => {
  const { api, receiver, emitter, clock } = environment;
  const make = async (name: string, request: object = {}) =>
    (await api.create({ url: receiver.url, name, ...request })).endpoint.id;
  await make("open");
  const paused = await make("paused", { enabled: false });
  const narrow = await make("narrow", { events: ["RiskCreated"] });
  const event = environment.event();
  const find = async () => fates(await api.find(`id=${event.id}`));
  expect(await find()).toEqual([]);
  await emitter.emit(event);
  await receiver.received(1);
  await environment.settled();
  clock.advance(1_000);
  const late = await make("late");
  expect(await find()).toEqual([
    { open: "succeeded", paused: "disabled", narrow: "not_subscribed", late: "created_later" },
  ]);

  await api.edit(paused, { enabled: true });
  await api.edit(narrow, { events: ["RiskCreated", "WorkItemCompleted"] });
  await receiver.received(3);
  await environment.settled();
  await environment.caughtUp(late);
  expect(await find()).toEqual([
    { open: "succeeded", paused: "succeeded", narrow: "succeeded", late: "created_later" },
  ]);
});
