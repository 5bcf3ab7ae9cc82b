import { expect, test } from "@jest/globals";
import { upgradeObstacle } from "./version-before.ts";

const migration = (name: string, checksum = name) => ({ name, checksum, sql: "" });
const HERE = [migration("1_init"), migration("2_column"), migration("3_table")];

test("a version can be upgraded whose migrations are all here as they were, whatever came since", () => {
  expect(upgradeObstacle(HERE.slice(0, 1), HERE)).toBeUndefined();
  expect(upgradeObstacle(HERE, HERE)).toBeUndefined();
});

test("a version with a migration that was written anew since, or is gone, can't be upgraded, and it is named", () => {
  expect(upgradeObstacle([migration("1_init"), migration("2_column", "earlier text")], HERE)).toBe(
    "its migration 2_column has another text here",
  );
  expect(upgradeObstacle([migration("1_init"), migration("4_newer")], HERE)).toBe("its migration 4_newer is not here");
});
