import { MUST_NOT_BE } from "@herald/e2e/chaos/report";
import type { SavedRun } from "@herald/e2e/chaos/results";
import { expect, test } from "@jest/globals";
import { chaosBlocks } from "./chaos-runs.ts";

function savedRun(scenario: string, extra: SavedRun["extra"] = {}): SavedRun {
  const verdict = Object.fromEntries(MUST_NOT_BE.map(([name]) => [name, name === "lost" ? 2 : 0]));
  const figures = {
    ...{ confirmed: 24_000, requests: 25_000, failedAttempts: 1_200, disabledByHerald: 3, quietAfterMs: 12_340 },
    faults: { kill: 3, flood: 1 },
    duplicates: { freeze: 1, kill: 1_000 },
  };
  const run = {
    scenario,
    seed: 7,
    seconds: 60,
    rate: 400,
    commit: "abc",
    date: "2026-01-01",
    verdict,
    figures,
    extra,
  };
  return run as unknown as SavedRun;
}

test("a saved run is a line of each table, and what must not be stands out where it was", () => {
  const blocks = chaosBlocks({ runs: [savedRun("faults")] });
  expect(blocks["chaos runs"]).toContain(
    "| 7 | `abc` | 400/s for 60 s | 4 | 24,000 | 25,000 | 1,200 | 3 | 12.3 s | 1,001: kill 1000, freeze 1 |",
  );
  expect(blocks["chaos verdicts"]).toContain("| 7 | **2** | 0 |");
});

test.each([
  ["upgrade", "chaos upgrades"],
  ["restore", "chaos restores"],
  ["postgres-failover", "chaos fail-overs"],
  ["second-region", "chaos second region"],
  ["cells", "chaos cells"],
])("a run of %s stands apart, with what was measured of it", (scenario, name) => {
  const blocks = chaosBlocks({ runs: [savedRun(scenario, { "promotion, ms": 200 })] });
  expect(blocks["chaos runs"]).not.toContain("`abc`");
  expect(blocks[name]).toContain("| in the verdict | promotion, ms |");
  expect(blocks[name]).toContain(
    "| 7 | `abc` | 400/s for 60 s | 24,000 | 25,000 | 1,001: kill 1000, freeze 1 | **2** | 200 |",
  );
});
