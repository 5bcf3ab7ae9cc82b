import { expect, test } from "@jest/globals";
import { databaseDefaults } from "./database-defaults.ts";

test("statements that are prepared once are planned once, and others for the values at hand", () => {
  expect(databaseDefaults({ preparesStatements: true })).toMatchObject({ plan_cache_mode: "force_generic_plan" });
  expect(databaseDefaults({ preparesStatements: false })).toMatchObject({ plan_cache_mode: "auto" });
});

test("the time of a statement is in milliseconds, as PostgreSQL reads a number without a unit", () => {
  expect(databaseDefaults({ preparesStatements: true })).toMatchObject({ statement_timeout: "30000" });
  const longer = databaseDefaults({ preparesStatements: true, statementTimeoutMs: 600_000 });
  expect(longer).toMatchObject({ statement_timeout: "600000" });
});
