import type { StoredResults } from "@herald/bench/bench/results";
import type { Figure } from "@herald/bench/bench/run-row";
import { expect, test } from "@jest/globals";
import { scalingBlocks, scalingPlots } from "./scaling.ts";

function figure(name: string, value: number | null, more: Partial<Figure> = {}): Figure {
  const median = value as number;
  return { name, label: name, unit: "x", values: [median], median, lowest: median, highest: median, ...more };
}

function results(...figures: Figure[]): StoredResults {
  const machine = { cores: 2, processor: "Xeon", memoryGibibytes: 8, node: "v20.20.0", loadBefore: 0.1 };
  const flood = { name: "flood", title: "Flood", conditions: {}, figures };
  return {
    runs: [{ machine, commit: "abc", date: "2026-01-01", seconds: 5, rounds: 3, baseline: "def", rows: [flood] }],
  };
}

const missed = { label: "the one to the other", bar: { atMost: 2 }, met: false };

test("a figure stands beside the baseline's and its bar, and says where it is missed", () => {
  const stored = results(figure("besideP95", 30), figure("ratio", 3, missed), figure("ratioBaseline", 24));
  const { fairness, missed: list, runs } = scalingBlocks(stored);
  expect(fairness).toContain("| another organization floods: others' p95 | 3x | 3 - 3 | 24x | <= 2x, **missed** |");
  expect(list).toContain("| `flood` | besideP95: the one to the other | 3x | <= 2x |");
  expect(runs).toContain("| 2026-01-01 | `abc` | `def` | 2 x Xeon, 8 GiB, Node 20.20.0 | 0.1 | 3 of 5 s | flood |");
});

test("what was not measured is left out, and what has no baseline has nothing before it", () => {
  const { fairness } = scalingBlocks(results(figure("ratio", 1.5, { bar: { atMost: 2 }, met: true })));
  expect(fairness).toContain("| 1.50x | 1.50 - 1.50 |  | <= 2x |");
  const { fairness: none, missed: list } = scalingBlocks(results(figure("ratio", null, { bar: { atMost: 2 } })));
  expect(none).not.toContain("floods");
  expect(list).toBe("Nothing of what was measured.");
});

test("a plot is the same text each time it is drawn, and has colours of its own for each background", () => {
  const stored = results(figure("ratio", 3, missed), figure("ratioBaseline", 24));
  const plots = scalingPlots(stored);
  expect(scalingPlots(stored)).toEqual(plots);
  expect(plots["docs/images/bench-fairness-light.svg"]).toContain("another organization floods");
  expect(plots["docs/images/bench-fairness-dark.svg"]).not.toBe(plots["docs/images/bench-fairness-light.svg"]);
});
