import type { EventPage, UndeliveredCause } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { newEvent } from "@herald/emitter";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
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

const DAY_MS = 24 * 60 * 60_000;

const at = (ms: number) => new Date(environment.clock.now().getTime() + ms).toISOString();

/** Waits until the search says why an event is not delivered. */
async function causeOf(id: string): Promise<{ cause: UndeliveredCause; type: string | null; events: number }> {
  return await eventually(async () => {
    const { undelivered, events } = await environment.api.find(`id=${id.toUpperCase()}`);
    expect(undelivered).toHaveLength(1);
    const [{ cause, type } = { cause: "rejected" as const, type: null }] = undelivered;
    return { cause, type, events: events.length };
  });
}

test("the search says of an event that came and was not taken why, to its organization alone", async () => {
  const { api, receiver, emitter, herald } = environment;
  await api.create({ url: receiver.url });
  const misspelt = newEvent({ ...environment.event(), type: "WorkItemCompletd" }, { undelivered: true });
  const old = environment.event({ occurredAtUtc: at(-8 * DAY_MS) });
  const future = environment.event({ occurredAtUtc: at(DAY_MS) });
  for (const event of [misspelt, old, future]) await emitter.emit(event);
  expect(await causeOf(misspelt.id)).toEqual({ cause: "unknown_type", type: "WorkItemCompletd", events: 0 });
  expect(await causeOf(old.id)).toEqual({ cause: "too_old", type: "WorkItemCompleted", events: 0 });
  expect(await causeOf(future.id)).toEqual({ cause: "in_future", type: "WorkItemCompleted", events: 0 });

  const other = await apiClient(herald.apiUrl, undefined, { untilAvailable: true });
  expect(other.organizationId).not.toBe(api.organizationId);
  expect(await other.find(`id=${misspelt.id}`)).toMatchObject({ events: [], undelivered: [] });
  expect(await api.find(`entityId=${misspelt.entityId}`)).toMatchObject({ undelivered: [] });
  await environment.settled();
  expect(receiver.requests).toEqual([]);
});
