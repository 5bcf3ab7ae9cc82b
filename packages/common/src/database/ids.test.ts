import { isUuid } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { deliveryId, eventKey, firstIdAt, lastIdAt, noticeId, timeOf } from "./ids.ts";

const ORGANIZATION = "Zoë's organization";
const EVENT = "0c5d3c5e-9f0e-4a64-9d3b-2b9f7d1e6a11";
const ENDPOINT = "5b8a1f9e-2a44-4a4e-9d62-0d7b3f6c1e22";
const TIME = new Date("2026-03-01T12:00:00.123Z");

test("an id is a UUID of version 8 that begins with the event's time", () => {
  for (const id of [eventKey(ORGANIZATION, EVENT, TIME), deliveryId(eventKey(ORGANIZATION, EVENT, TIME), ENDPOINT)]) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(timeOf(id)).toEqual(TIME);
  }
});

test("the same event has the same key, and another organization, id or time another one", () => {
  const key = eventKey(ORGANIZATION, EVENT, TIME);
  expect(eventKey(ORGANIZATION, EVENT.toUpperCase(), new Date(TIME))).toBe(key);
  expect(eventKey(`${ORGANIZATION} `, EVENT, TIME)).not.toBe(key);
  expect(eventKey(ORGANIZATION, ENDPOINT, TIME)).not.toBe(key);
  expect(eventKey(ORGANIZATION, EVENT, new Date(TIME.getTime() + 1))).not.toBe(key);
});

test("ids of a time lie behind the first id of that time, and before the first id of the next", () => {
  const key = eventKey(ORGANIZATION, EVENT, TIME);
  expect(firstIdAt(TIME) < key).toBe(true);
  expect(key < lastIdAt(TIME)).toBe(true);
  expect(lastIdAt(TIME) < firstIdAt(new Date(TIME.getTime() + 1))).toBe(true);
  expect(firstIdAt(new Date(0))).toBe("00000000-0000-0000-0000-000000000000");
});

test("ids of notices are UUIDs of version 7 that begin with the time, and follow one another within a millisecond", () => {
  const now = new Date("2026-03-01T12:00:00.123Z");
  const ids = Array.from({ length: 100 }, () => noticeId(now));
  expect(ids.every(isUuid)).toBe(true);
  expect(ids.every((id) => id[14] === "7")).toBe(true);
  expect(ids.map(timeOf)).toEqual(ids.map(() => now));
  expect([...ids].sort()).toEqual(ids);
  expect(noticeId(new Date(now.getTime() + 1)) > (ids.at(-1) as string)).toBe(true);
});
