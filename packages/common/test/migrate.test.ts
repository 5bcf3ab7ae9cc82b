import { migrate } from "@herald/common/database";
import { useDatabase } from "@herald/devkit/harness";
import { expect, test } from "@jest/globals";

const database = useDatabase();

test("a second migration of the same database finds nothing to do", async () => {
  expect(await migrate(database.url)).toEqual({ applied: [] });
});
