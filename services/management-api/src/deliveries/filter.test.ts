import { deliveryId, eventKey, firstIdAt, timeOf } from "@herald/common/database/ids";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { deliveriesOf, keysBefore, periodOf } from "./filter.ts";

const ENDPOINT = "01a1f9ac-85a7-7000-8000-05bafe1f0496";
const START = Date.parse("2026-03-01T12:00:00.000Z");
const PART = 5;

/** Keys of events that occurred these milliseconds after the start, newest first. */
const keysAt = (times: readonly number[]) =>
  times
    .map((ms, index) =>
      eventKey("acme", `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`, new Date(START + ms)),
    )
    .sort()
    .reverse();

/** All parts, read as the history reads them: cursor by cursor, with {@link PART} events at a time. */
function allParts(keys: readonly string[]): string[] {
  const seen: string[] = [];
  let olderThan: string | null = null;
  do {
    const before: string | null = olderThan === null ? null : keysBefore(olderThan);
    const read = keys.filter((key) => before === null || key < before).slice(0, PART);
    const part = deliveriesOf(read, { endpointIds: [ENDPOINT], olderThan, isCut: read.length === PART });
    seen.push(...part.ids);
    if (olderThan !== null && part.rest !== null && part.rest >= olderThan)
      throw new Error("The cursor did not move on.");
    olderThan = part.rest;
  } while (olderThan !== null);
  return seen;
}

test("every delivery of an entity's events is in one part, and in one only, even if events are of the same millisecond", () => {
  // A part has room for the events of one millisecond.
  const times = fc.array(fc.nat({ max: 30 }), { maxLength: 40 }).map((all) => {
    const counts = new Map<number, number>();
    return all.filter((time) => {
      const count = (counts.get(time) ?? 0) + 1;
      counts.set(time, count);
      return count < PART;
    });
  });
  fc.assert(
    fc.property(times, (all) => {
      const keys = keysAt(all);
      expect(allParts(keys).sort()).toEqual(keys.map((key) => deliveryId(key, ENDPOINT)).sort());
    }),
  );
});

test("what comes after a cursor in the middle of a millisecond is the rest of that millisecond, and what is older", () => {
  const keys = keysAt([2, 1, 1, 1, 0]);
  const ids = keys.map((key) => deliveryId(key, ENDPOINT)).sort();
  const olderThan = ids[2] ?? "";
  expect(deliveriesOf(keys, { endpointIds: [ENDPOINT], olderThan, isCut: false })).toEqual({
    ids: expect.arrayContaining(ids.slice(0, 2)),
    rest: null,
  });
});

test("more events of one millisecond than a part takes end, and the cursor moves on", () => {
  const keys = keysAt(Array.from({ length: PART }, () => 7));
  const { ids, rest } = deliveriesOf(keys, { endpointIds: [ENDPOINT], olderThan: null, isCut: true });
  expect(ids).toHaveLength(PART);
  expect(rest).toBe(firstIdAt(new Date(START + 7)));
});

test("no events make no deliveries", () => {
  expect(deliveriesOf([], { endpointIds: [ENDPOINT], olderThan: null, isCut: false })).toEqual({
    ids: [],
    rest: null,
  });
});

const DAY_MS = 86_400_000;
const from = "2026-03-10T00:00:00.000Z";
const to = "2026-03-11T00:00:00.000Z";

test("without times a period has no limit", () => {
  expect(periodOf({}, 7)).toEqual({ from: null, to: null, firstId: null, endId: null });
});

test("the ids of a period begin a window and a day before it, and end an hour after it and more", () => {
  const { firstId, endId, ...times } = periodOf({ from, to }, 7);
  expect(times).toEqual({ from: new Date(from), to: new Date(to) });
  expect(timeOf(firstId ?? "").getTime()).toBe(Date.parse(from) - 8 * DAY_MS);
  expect(timeOf(endId ?? "").getTime()).toBeGreaterThan(Date.parse(to) + 3_600_000);
});
