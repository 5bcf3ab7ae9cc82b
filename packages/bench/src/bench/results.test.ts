import { expect, test } from "@jest/globals";
import { type BenchReport, mergeResults } from "./results.ts";

function run(commit: string, rows: { name: string; growth?: number }[]): BenchReport {
  const machine = { cores: 2, processor: "cpu", memoryGibibytes: 8, node: "v20", loadBefore: 0 };
  return {
    ...{ machine, commit, date: "2026-01-01", seconds: 5, rounds: 3 },
    rows: rows.map((row) => ({ ...row, title: row.name, conditions: {}, figures: [] })),
  };
}

test("a run's rows take the place of earlier ones of the same name and size, and a run without rows goes", () => {
  const before = {
    runs: [run("a", [{ name: "flood" }, { name: "growth", growth: 10 }]), run("b", [{ name: "look" }])],
  };
  const { runs } = mergeResults(
    before,
    run("c", [{ name: "look" }, { name: "growth", growth: 20 }, { name: "flood" }]),
  );
  expect(runs.map(({ commit, rows }) => [commit, rows.map(({ name, growth }) => `${name} ${growth ?? ""}`)])).toEqual([
    ["a", ["growth 10"]],
    ["c", ["look ", "growth 20", "flood "]],
  ]);
});
