import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { eventKey, firstIdAt } from "../database/ids.ts";
import { cutPart, timeOfPart } from "./undelivered-part.ts";

const START = Date.parse("2026-03-01T12:00:00.000Z");
const at = (ms: number) => new Date(START + ms);
const rowsAt = (times: readonly number[]) =>
  [...times].sort((one, other) => other - one).map((ms) => ({ cameAt: at(ms) }));

describe("the time of a part", () => {
  test("a list without ends has none", () => {
    expect(timeOfPart({ next: null, before: null })).toEqual({ from: null, to: null });
  });

  test("what came in the millisecond of a key is behind the key; at the first key of one, before it", () => {
    const key = eventKey("acme", "00000000-0000-4000-8000-000000000001", at(7));
    expect(timeOfPart({ next: key, before: null })).toEqual({ from: at(8), to: null });
    expect(timeOfPart({ next: null, before: key })).toEqual({ from: null, to: at(8) });
    expect(timeOfPart({ next: firstIdAt(at(7)), before: firstIdAt(at(9)) })).toEqual({ from: at(7), to: at(9) });
  });
});

describe("the room of a part", () => {
  test("few rows have room", () => {
    expect(cutPart(rowsAt([1, 2]), 2)).toEqual({ rows: rowsAt([1, 2]), next: null });
  });

  test("parts end, and hold each row once, but for those of one millisecond that has more than there is room for", () => {
    const room = 4;
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 12 }), { maxLength: 40 }), (times) => {
        const all = rowsAt(times);
        const seen: { cameAt: Date }[] = [];
        let before: string | null = null;
        do {
          const { to } = timeOfPart({ next: null, before });
          const rest = all.filter(({ cameAt }) => to === null || cameAt < to);
          const { rows, next } = cutPart(rest.slice(0, room + 1), room);
          seen.push(...rows);
          if (before !== null && next !== null && next >= before) throw new Error("The cursor did not move on.");
          before = next;
        } while (before !== null);
        const most = (time: number) => Math.min(room, times.filter((each) => each === time).length);
        const expected = [...new Set(times)].flatMap((time) => Array.from({ length: most(time) }, () => time));
        expect(seen).toEqual(rowsAt(expected));
      }),
    );
  });
});
