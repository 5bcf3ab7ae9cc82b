import { expect, test } from "@jest/globals";
import { nameOf, rightsOf } from "./single-rights.ts";

test("grants are taken apart into single rights, each once", () => {
  const grants = ["select, update (a, b) on t, u", "execute on function f(uuid, date), g()", "select on t"];
  expect(rightsOf(grants).map(nameOf)).toEqual([
    "select on t",
    "select on u",
    "update (a) on t",
    "update (b) on t",
    "update (a) on u",
    "update (b) on u",
    "execute on function f(uuid, date)",
    "execute on function g()",
  ]);
});
