import { expect, test } from "@jest/globals";
import { isPoolerAsked } from "./test-pooler.ts";

test("POSTGRES_POOLER asks for a pooler, and a misspelt one is refused", () => {
  expect(isPoolerAsked({})).toBe(false);
  expect(isPoolerAsked({ POSTGRES_POOLER: "" })).toBe(false);
  expect(isPoolerAsked({ POSTGRES_POOLER: "pgbouncer" })).toBe(true);
  expect(() => isPoolerAsked({ POSTGRES_POOLER: "bouncer" })).toThrow(/It can be pgbouncer/);
});
