import { expect, test } from "@jest/globals";
import { nextRows } from "./steady.ts";

const rows = (ids: string, note = "") => [...ids].map((id) => ({ id, note }));
const idsOf = (list: readonly { id: string }[]): string => list.map(({ id }) => id).join("");

test("an untouched list shows what is there", () => {
  expect(nextRows(rows("cba"), rows("dcba"), false)).toEqual({ rows: rows("dcba"), waiting: 0 });
});

test("a steady list keeps each row in its place and says how many wait", () => {
  const { rows: shown, waiting } = nextRows(rows("cba"), rows("edcba"), true);
  expect(idsOf(shown)).toBe("cba");
  expect(waiting).toBe(2);
});

test("a steady row takes its newest content", () => {
  expect(nextRows(rows("cba"), rows("dcba", "retried"), true).rows).toEqual(rows("cba", "retried"));
});

test("a row that has left the filter stays while the list is steady", () => {
  const { rows: shown, waiting } = nextRows(rows("cba"), rows("ca"), true);
  expect(idsOf(shown)).toBe("cba");
  expect(waiting).toBe(0);
});

test("older rows are added below a steady list", () => {
  const { rows: shown, waiting } = nextRows(rows("dcb"), rows("edcba"), true);
  expect(idsOf(shown)).toBe("dcba");
  expect(waiting).toBe(1);
});

test("a row that comes in between waits", () => {
  expect(nextRows(rows("ca"), rows("cba"), true).waiting).toBe(1);
});

test("a steady list without rows shows the first ones", () => {
  expect(nextRows([], rows("a"), true)).toEqual({ rows: rows("a"), waiting: 0 });
});
