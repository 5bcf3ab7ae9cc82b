import { randomUUID } from "node:crypto";
import { deliveryId, eventKey } from "@herald/common/database/ids";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import type { FanOutResult } from "../event/fan-out.ts";
import type { ForOwners, IncomingEvent } from "../sql/rows.ts";
import type { SubscribedEndpoint } from "../sql/store-events.ts";
import { createPendingWindow } from "./arrival.ts";
import { createOnArrival } from "./on-arrival.ts";

const START = new Date("2026-03-01T12:00:00.000Z");
const endpointOf = (override: Partial<SubscribedEndpoint> = {}): SubscribedEndpoint => ({
  id: randomUUID(),
  revision: "3",
  readAt: START,
  createdAt: new Date(START.getTime() - 60_000),
  owner: "owner-1",
  isReady: true,
  ...override,
});

function world() {
  const clock = steeredClock(START);
  const handedOver: ForOwners[] = [];
  const onArrival = createOnArrival({ clock, handOver: (made) => handedOver.push(made) });

  function eventOf(override: Partial<IncomingEvent> = {}): IncomingEvent {
    const id = randomUUID();
    const occurredAt = override.occurredAt ?? clock.now();
    return {
      organizationId: "organization-1",
      key: eventKey("organization-1", id, occurredAt),
      id,
      type: "RiskCreated",
      entityId: randomUUID(),
      occurredAt,
      receivedAt: clock.now(),
      body: "{}",
      traceparent: null,
      ...override,
    };
  }

  /** A statement whose answer has the endpoints of such events. */
  async function stored(endpoints: SubscribedEndpoint[]): Promise<void> {
    const read = endpoints.map((endpoint) => ({ ...endpoint, readAt: clock.now() }));
    const subscriptions = [{ organizationId: "organization-1", type: "RiskCreated", endpoints: read }];
    const result: FanOutResult = {
      outcomes: [],
      made: [],
      deliveryCount: 0,
      subscriptions,
    };
    await onArrival.storing(async () => result);
  }

  const arrives = (event: IncomingEvent) => onArrival.handOver([event]).has(event);

  return { clock, handedOver, onArrival, arrives, eventOf, stored };
}

test("an event is handed over once a statement has answered which endpoints get such events", async () => {
  const { arrives, eventOf, stored, handedOver } = world();
  expect(arrives(eventOf())).toBe(false);
  const endpoints = [endpointOf(), endpointOf({ owner: "owner-2" })];
  await stored(endpoints);
  const event = eventOf();
  expect(arrives(event)).toBe(true);
  const deliveries = endpoints.map(({ id: endpointId, owner }) => ({
    id: deliveryId(event.key, endpointId),
    endpointId,
    revision: "3",
    readAt: START,
    event,
    owner,
  }));
  expect(handedOver).toEqual([{ stored: false, deliveries, work: [] }]);
});

test("an event without endpoints is not handed over, and waits with the others", async () => {
  const { arrives, eventOf, stored, handedOver } = world();
  await stored([]);
  expect(arrives(eventOf())).toBe(true);
  expect(handedOver).toEqual([]);
});

test("§6.1/creation an endpoint that was created after the event gets nothing of it", async () => {
  const { arrives, eventOf, stored, handedOver } = world();
  const older = endpointOf();
  await stored([older, endpointOf({ createdAt: START })]);
  expect(arrives(eventOf({ occurredAt: new Date(START.getTime() - 1) }))).toBe(true);
  expect(handedOver[0]?.deliveries.map(({ endpointId }) => endpointId)).toEqual([older.id]);
});

test.each<[string, { endpoints?: SubscribedEndpoint[]; event?: Partial<IncomingEvent> }]>([
  ["another organization", { event: { organizationId: "organization-2" } }],
  ["another type", { event: { type: "WorkItemCompleted" } }],
  ["an event of more than ten seconds ago", { event: { occurredAt: new Date(START.getTime() - 10_001) } }],
  ["an event of an emitter whose clock is ahead", { event: { occurredAt: new Date(START.getTime() + 1_001) } }],
  ["a large body", { event: { body: "x".repeat(8 * 1024 + 1) } }],
  ["an endpoint without an owner", { endpoints: [endpointOf(), endpointOf({ owner: null })] }],
  ["an endpoint that fails, or whose owner is new", { endpoints: [endpointOf(), endpointOf({ isReady: false })] }],
  ["many endpoints", { endpoints: Array.from({ length: 21 }, () => endpointOf()) }],
])("an unusual event is stored first: %s", async (_name, { endpoints = [endpointOf()], event = {} }) => {
  const { arrives, eventOf, stored, handedOver } = world();
  await stored(endpoints);
  expect(arrives(eventOf())).toBe(endpoints.length === 1);
  handedOver.length = 0;
  expect(arrives(eventOf(event))).toBe(false);
  expect(handedOver).toEqual([]);
});

test("a subscription that was read a minute ago is not used", async () => {
  const { clock, arrives, eventOf, stored } = world();
  await stored([endpointOf()]);
  clock.advance(60_000);
  expect(arrives(eventOf())).toBe(true);
  clock.advance(1);
  expect(arrives(eventOf())).toBe(false);
});

test("the latest revision counts, in whatever order statements end", async () => {
  const { clock, arrives, eventOf, stored, handedOver } = world();
  const endpoint = endpointOf();
  clock.advance(10);
  await stored([{ ...endpoint, revision: "4" }]);
  clock.advance(-5);
  await stored([endpoint]);
  arrives(eventOf());
  expect(handedOver[0]?.deliveries[0]?.revision).toBe("4");
});

test("while a statement takes long nothing is handed over, and after one that failed nothing is known", async () => {
  const { clock, onArrival, arrives, eventOf, stored } = world();
  await stored([endpointOf()]);
  let fail: (error: Error) => void = () => {};
  const storing = onArrival.storing(() => new Promise((_resolve, reject) => (fail = reject)));
  clock.advance(1_000);
  expect(arrives(eventOf())).toBe(true);
  clock.advance(1);
  expect(arrives(eventOf())).toBe(false);
  fail(new Error("away"));
  await expect(storing).rejects.toThrow("away");
  expect(arrives(eventOf())).toBe(false);
  await stored([endpointOf()]);
  expect(arrives(eventOf())).toBe(true);
});

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

function pendingEvents({ most = 100 } = {}) {
  const gone: [number, number][] = [];
  const options = { most, storedAfterMs: 100, togetherMs: 90 };
  const pending = createPendingWindow<number>((item) => gone.push([item, performance.now()]), options);
  return { pending, gone };
}

test("the oldest event goes on with all that have waited long enough, and the others wait for their own time", () => {
  const { pending, gone } = pendingEvents();
  pending.add(1);
  jest.advanceTimersByTime(60);
  pending.add(2);
  jest.advanceTimersByTime(60);
  pending.add(3);
  jest.advanceTimersByTime(1_000);
  expect(gone).toEqual([
    [1, 190],
    [2, 190],
    [3, 310],
  ]);
});

test("dropped events do not go on", () => {
  const { pending, gone } = pendingEvents();
  pending.add(1);
  expect(pending.drop()).toEqual([1]);
  jest.advanceTimersByTime(1_000);
  pending.add(2);
  jest.advanceTimersByTime(1_000);
  expect(gone.map(([item]) => item)).toEqual([2]);
});

test("there is room again when an event on its way is over, stored or dropped", async () => {
  const { pending } = pendingEvents({ most: 2 });
  let rooms = 0;
  const ask = () => void pending.room().then(() => rooms++);
  for (const item of [1, 2, 3]) pending.add(item);
  ask();
  ask();
  pending.over(1);
  await Promise.resolve();
  expect(rooms).toBe(0);
  pending.over(3);
  await Promise.resolve();
  await Promise.resolve();
  expect(rooms).toBe(2);
});
