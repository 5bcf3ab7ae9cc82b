import {
  type DeliveryListItem,
  type EndpointDelivery,
  type EventListItem,
  type EventPage,
  NO_DELIVERY_REASONS,
  type NoDeliveryReason,
  type UndeliveredEvent,
} from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { eventRows, fates, reasonWords } from "./words.ts";

const at = (minute: number) => `2026-11-20T14:${String(minute).padStart(2, "0")}:00.000Z`;
const event = (key: string, minute: number, endpoints: EndpointDelivery[] = []) =>
  ({ key, occurredAtUtc: at(minute), endpoints }) as unknown as EventListItem;
const undelivered = (id: string, minute: number) =>
  ({ id, cause: "too_old", cameAtUtc: at(minute) }) as unknown as UndeliveredEvent;
const page = (events: EventListItem[], others: UndeliveredEvent[]): EventPage => ({
  ...{ events, undelivered: others, manualDelivery: null, nextCursor: null },
});
const result = (delivery: Partial<DeliveryListItem> | null) => ({ delivery }) as unknown as EndpointDelivery;

test("events that were not taken stand among the others by their time", () => {
  const pages = [
    page([event("a", 9), event("b", 5)], [undelivered("x", 7)]),
    page([event("c", 1)], [undelivered("y", 3)]),
  ];
  expect(eventRows(pages).map(({ key }) => key)).toEqual(["a", "x too_old", "b", "y too_old", "c"]);
});

test("what became of an event is counted by outcome, and what is on hold after a failure is known", () => {
  const delivered = [
    result({ outcome: "succeeded", attemptCount: 1 }),
    result({ outcome: "parked", attemptCount: 0 }),
    result(null),
    result({ outcome: "parked", attemptCount: 3 }),
  ];
  expect(fates(event("a", 1, delivered))).toEqual([
    { outcome: "succeeded", count: 1, attempts: 1 },
    { outcome: "parked", count: 2, attempts: 3 },
  ]);
  expect(fates(event("a", 1, [result(null)]))).toEqual([]);
});

test.each(Object.keys(NO_DELIVERY_REASONS) as NoDeliveryReason[])("the page has words for the reason %s", (reason) => {
  const { short, sentence } = reasonWords(reason);
  expect(short).toMatch(/^[A-Z]/);
  expect(sentence).not.toMatch(/endpoint/i);
});
