import { isUuid } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { changeId } from "./update-endpoint.ts";

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
