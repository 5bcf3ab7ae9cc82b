import { expect, test } from "@jest/globals";
import { nextRows } from "./steady.ts";

const rows = (ids: string, note = "") => [...ids].map((id) => ({ id, note }));

test.each([
  ["an untouched list shows what is there", "cba", "dcba", false, "dcba", 0],
  ["a steady list keeps each row in its place and says how many wait", "cba", "edcba", true, "cba", 2],
  ["a row that has left the filter stays while the list is steady", "cba", "ca", true, "cba", 0],
  ["older rows are added below a steady list", "dcb", "edcba", true, "dcba", 1],
  ["a row that comes in between waits", "ca", "cba", true, "ca", 1],
  ["a steady list without rows shows the first ones", "", "a", true, "a", 0],
])("%s", (_words, shown, newest, isSteady, expected, waiting) => {
  expect(nextRows(rows(shown), rows(newest), isSteady)).toEqual({ rows: rows(expected), waiting });
});

test("a steady row takes its newest content", () => {
  expect(nextRows(rows("cba"), rows("dcba", "retried"), true).rows).toEqual(rows("cba", "retried"));
});
