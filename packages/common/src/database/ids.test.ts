import { isUuid } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { byDay, onDaysOf } from "./days.ts";
import { changeId, deliveryId, eventKey, firstIdAt, lastIdAt, noticeId, timeOf } from "./ids.ts";

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

const begin = (day: string) => firstIdAt(new Date(`${day}T00:00:00.000Z`));
const end = (day: string) => lastIdAt(new Date(`${day}T23:59:59.999Z`));

test("ids are within their days in UTC, from the first to the last one", () => {
  expect(onDaysOf("id", [end("2026-11-28"), begin("2026-11-27")]).text).toBe(
    `id between '${begin("2026-11-27")}'::uuid and '${end("2026-11-28")}'::uuid`,
  );
  expect(onDaysOf("id", [begin("2026-11-28")]).values).toEqual([]);
});

test("no ids are within no days", () => {
  expect(onDaysOf("id", []).text).toBe("false");
});

test("the last moment of a day is of that day", () => {
  const ids = [end("2026-11-27"), begin("2026-11-28"), end("2026-11-28"), begin("2026-11-27")];
  const days = byDay(ids, (id) => id);
  expect(days.map(({ items, isOn }) => [items, isOn("id")])).toEqual([
    [[ids[0], ids[3]], onDaysOf("id", [begin("2026-11-27")])],
    [[ids[1], ids[2]], onDaysOf("id", [end("2026-11-28")])],
  ]);
});

test("an id that begins with no time of this millennium has a day too", () => {
  expect(onDaysOf("id", ["ffffffff-ffff-4fff-8fff-ffffffffffff"]).text).toMatch(
    /and 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid$/,
  );
});

const NOW = new Date("2026-03-01T12:00:00.000Z");
const later = (ms: number) => new Date(NOW.getTime() + ms);

test("the ids of changes are in the order of their times, and within a millisecond in the order of revisions", () => {
  const ids = [
    changeId(NOW, 1n),
    changeId(NOW, 2n),
    changeId(NOW, 0x1234n),
    changeId(NOW, 0x1235n),
    changeId(later(1), 1n),
    changeId(later(1_000), 2n ** 63n - 1n),
    changeId(later(1_001), 1n),
  ];
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.every(isUuid)).toBe(true);
});

test("a change of the same millisecond comes before a manual delivery, whose id is a UUIDv7", () => {
  const delivery = `${changeId(NOW, 1n).slice(0, 14)}7000-8000-000000000000`;
  expect(changeId(NOW, 2n ** 62n) < delivery).toBe(true);
});

test("two endpoints that change in one millisecond have changes of their own", () => {
  expect(changeId(NOW, 7n)).not.toBe(changeId(NOW, 7n));
});
