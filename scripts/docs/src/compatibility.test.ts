import type { CellRun } from "@herald/e2e/compatibility/results";
import { expect, test } from "@jest/globals";
import { compatibilityBlocks } from "./compatibility.ts";

const run: CellRun = {
  ...{ node: "20", postgres: "15", rabbitmq: "3.10", pooler: false, tier: "main-job" },
  ...{ passed: true, tests: 34, failed: [], commit: "abc", date: "2026-01-01" },
  versions: { node: "20.19.0", postgres: "15.18", rabbitmq: "3.10.8" },
};
const rowOf = (text: string | undefined, start: string) => text?.split("\n").find((line) => line.startsWith(start));

test("a cell of the table names the tests that passed, and is empty where none ran", () => {
  const { cells, runs } = compatibilityBlocks({ runs: [run] });
  expect(rowOf(cells, "| 20 | 15 |")).toBe("| 20 | 15 | main job |  |  |  |");
  expect(rowOf(cells, "| 24 | 18 |")).toBe("| 24 | 18 |  |  |  |  |");
  expect(runs).toContain("| 20.19.0 | 15.18 | 3.10.8 | none | main job | 34 | 0 | `abc` | 2026-01-01 |");
});

test("where two tiers have passed in a cell, the table names the larger one", () => {
  const { cells } = compatibilityBlocks({ runs: [run, { ...run, tier: "service" }] });
  expect(rowOf(cells, "| 20 | 15 |")).toBe("| 20 | 15 | service tier |  |  |  |");
});

test("a tier that failed in a cell stands out, whatever else has passed there", () => {
  const failed = { ...run, tier: "service", passed: false, failed: ["a journey"] };
  const { cells, runs } = compatibilityBlocks({ runs: [run, failed] });
  expect(rowOf(cells, "| 20 | 15 |")).toBe("| 20 | 15 | **service tier failed** |  |  |  |");
  expect(runs).toContain("| **1**: a journey |");
});
