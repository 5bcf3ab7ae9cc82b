import { expect, test } from "@jest/globals";
import { listedIn, statementsOf } from "./statements.ts";

test("statements have their lines, also behind comments, texts and bodies of several lines", () => {
  const sql = [
    "-- first; not a statement",
    'CREATE TABLE "a" (',
    '    "b" TEXT -- trailing; too',
    ");",
    "/* two",
    "lines; */ insert into a values ('it''s;",
    "here'), (E'\\';');",
    "create function f() returns void language sql as $body$ select 1; select 2; $body$;",
    "drop table a",
  ].join("\n");
  expect(statementsOf(sql).map(({ line, text }) => [line, text])).toEqual([
    [2, 'create table "a" ( "b" text )'],
    [6, "insert into a values (''), ('')"],
    [8, "create function f() returns void language sql as $$"],
    [9, "drop table a"],
  ]);
});

test("a statement has the comments above it, and not those inside of it", () => {
  const [first, second] = statementsOf("-- one\n-- two\nselect 1 -- inside\n;\n-- three\nselect 2;");
  expect(first?.comments).toEqual(["-- one", "-- two"]);
  expect(second?.comments).toEqual(["-- three"]);
});

test("a parameter and a minus are no quote and no comment", () => {
  expect(statementsOf("select $1 - 1 / 2; select 3").map(({ text }) => text)).toEqual([
    "select $1 - 1 / 2",
    "select 3",
  ]);
});

test("a list is cut at the commas that are not between parentheses", () => {
  expect(listedIn("add column a numeric(1,2), drop column b, add c text[] default array[1,2]")).toEqual([
    "add column a numeric(1,2)",
    "drop column b",
    "add c text[] default array[1,2]",
  ]);
});
