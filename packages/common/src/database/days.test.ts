import { expect, test } from "@jest/globals";
import { byDay, onDaysOf } from "./days.ts";
import { firstIdAt, lastIdAt } from "./ids.ts";

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
