import { expect, test } from "@jest/globals";
import { AXES, allCells, cellsLike, cellsOf, nameOf } from "./cells.ts";

const names = (cells = allCells()) => cells.map(nameOf);

test("the corners are each combination of the oldest and the newest", () => {
  const corners = names(cellsOf("corners"));
  expect(corners).toHaveLength(16);
  expect(corners).toContain("20/15/3.10/no");
  expect(corners).toContain("24/15/4/yes");
  expect(corners.filter((name) => /^22|\/1[67]\//.test(name))).toEqual([]);
});

test("the diagonal has each version of each axis", () => {
  const diagonal = cellsOf("diagonal") ?? [];
  for (const axis of ["node", "postgres", "rabbitmq", "pooler"] as const) {
    expect(new Set(diagonal.map((cell) => cell[axis]))).toEqual(new Set<string | boolean>(AXES[axis]));
  }
});

test("a cell of two groups is run once, and a group that is none is refused", () => {
  const both = names(cellsOf("corners,diagonal"));
  expect(both).toHaveLength(18);
  expect(new Set(both).size).toBe(18);
  expect(names(cellsOf("all"))).toHaveLength(48);
  expect(cellsOf("corners,nosuch")).toBeUndefined();
});

test("one cell is named by its versions, and several by a star", () => {
  expect(names(cellsLike("22/17/4/no"))).toEqual(["22/17/4/no"]);
  expect(names(cellsLike("22/*/4/no"))).toHaveLength(4);
  expect(cellsLike("22/14/4/no")).toEqual([]);
  expect(cellsLike("22")).toEqual([]);
});
