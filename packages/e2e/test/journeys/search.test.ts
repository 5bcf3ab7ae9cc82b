import type { EventPage } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();
const DAY_MS = 24 * 60 * 60_000;

/** By the endpoints' names: the state of the event's delivery, or the reason why there is none. */
const fates = ({ events }: EventPage) =>
  events.map(({ endpoints }) =>
    Object.fromEntries(
      endpoints.map(({ endpointName, delivery, reason }) => [endpointName, delivery?.state ?? reason]),
    ),
  );

test("the reason why an endpoint lacks an event holds: what mends it brings the event, and where nothing does it never comes", async () => {
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

test("§6.1/window an event that a pause outlasted by more than seven days says so, and a resume does not bring it", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint } = await api.create({ url: receiver.url, name: "paused", enabled: false });
  const event = environment.event();
  await emitter.emit(event);
  const find = async () => fates(await api.find(`entityId=${event.entityId}`));
  await eventually(async () => expect(await find()).toEqual([{ paused: "disabled" }]));
  clock.advance(7 * DAY_MS + 1);
  expect(await find()).toEqual([{ paused: "older_than_window" }]);
  await api.edit(endpoint.id, { enabled: true });
  await environment.caughtUp(endpoint.id);
  expect(await find()).toEqual([{ paused: "older_than_window" }]);
  expect(receiver.requests).toEqual([]);
});
