import { deliveryId, eventKey, firstIdAt } from "@herald/common/database/ids";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { keysBefore, soughtDeliveries } from "./sought.ts";

const ENDPOINT = "01a1f9ac-85a7-7000-8000-05bafe1f0496";
const START = Date.parse("2026-03-01T12:00:00.000Z");
const PART = 5;

/** Keys of events that occurred so many milliseconds after the start, newest first. */
const keysAt = (times: readonly number[]) =>
  times
    .map((ms, index) =>
      eventKey("acme", `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`, new Date(START + ms)),
    )
    .sort()
    .reverse();

/** All parts, read as the history reads them: cursor by cursor, with so many events at a time. */
function allParts(keys: readonly string[]): string[] {
  const seen: string[] = [];
  let olderThan: string | null = null;
  do {
    const before: string | null = olderThan === null ? null : keysBefore(olderThan);
    const read = keys.filter((key) => before === null || key < before).slice(0, PART);
    const part = soughtDeliveries(read, { endpointIds: [ENDPOINT], olderThan, isCut: read.length === PART });
    seen.push(...part.ids);
    if (olderThan !== null && part.rest !== null && part.rest >= olderThan)
      throw new Error("The cursor did not move on.");
    olderThan = part.rest;
  } while (olderThan !== null);
  return seen;
}

test("every delivery of an entity's events is in one part, and in one only, also where events are of the same millisecond", () => {
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
  expect(soughtDeliveries(keys, { endpointIds: [ENDPOINT], olderThan, isCut: false })).toEqual({
    ids: expect.arrayContaining(ids.slice(0, 2)),
    rest: null,
  });
});

test("more events of one millisecond than a part takes end, and the cursor moves on", () => {
  const keys = keysAt(Array.from({ length: PART }, () => 7));
  const { ids, rest } = soughtDeliveries(keys, { endpointIds: [ENDPOINT], olderThan: null, isCut: true });
  expect(ids).toHaveLength(PART);
  expect(rest).toBe(firstIdAt(new Date(START + 7)));
});

test("no events make no deliveries", () => {
  expect(soughtDeliveries([], { endpointIds: [ENDPOINT], olderThan: null, isCut: false })).toEqual({
    ids: [],
    rest: null,
  });
});
