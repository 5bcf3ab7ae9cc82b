import { MUST_NOT_BE } from "@herald/e2e/chaos/report";
import type { SavedRun, SavedRuns } from "@herald/e2e/chaos/results";
import { table } from "./table.ts";

/** Where chaos runs are kept: `pnpm chaos --seed 1 --save docs/chaos.json`. */
export const CHAOS_RUNS = "docs/chaos.json";

/** The generated blocks of docs/reliability.md, by name. */
export function chaosBlocks({ runs }: SavedRuns): Record<string, string> {
  const ofFaults = runs.filter(({ scenario }) => scenario === "faults");
  return {
    "chaos runs": table(
      [
        "seed",
        "commit",
        "load",
        "faults",
        "events confirmed",
        "requests",
        "failed attempts",
        "disabled by Herald",
        "quiet after",
        "duplicates, and why",
      ],
      ofFaults.map(({ seed, commit, rate, seconds, figures }) => [
        String(seed),
        `\`${commit}\``,
        `${rate}/s for ${seconds} s`,
        number(sum(figures.faults)),
        ...[figures.confirmed, figures.requests, figures.failedAttempts, figures.disabledByHerald].map(number),
        `${(figures.quietAfterMs / 1_000).toFixed(1)} s`,
        duplicatesOf(figures.duplicates),
      ]),
    ),
    "chaos verdicts": table(
      ["seed", ...MUST_NOT_BE.map(([, words]) => words)],
      ofFaults.map((run) => [String(run.seed), ...verdictOf(run)]),
    ),
    "chaos upgrades": measuredIn("upgrade", runs),
    "chaos restores": measuredIn("restore", runs),
    "chaos fail-overs": measuredIn("postgres-failover", runs),
    "chaos second region": measuredIn("second-region", runs),
    "chaos cells": measuredIn("cells", runs),
  };
}

/** The runs of a scenario, with what it measures besides. */
function measuredIn(scenario: string, runs: readonly SavedRun[]): string {
  const own = runs.filter((run) => run.scenario === scenario);
  const measured = [...new Set(own.flatMap(({ extra }) => Object.keys(extra)))];
  return table(
    ["seed", "commit", "load", "events confirmed", "requests", "duplicates, and why", "in the verdict", ...measured],
    own.map(({ seed, commit, rate, seconds, figures, verdict, extra }) => [
      String(seed),
      `\`${commit}\``,
      `${rate}/s for ${seconds} s`,
      ...[figures.confirmed, figures.requests].map(number),
      duplicatesOf(figures.duplicates),
      noneOf(sum(verdict)),
      ...measured.map((name) => String(extra[name] ?? "")),
    ]),
  );
}

function verdictOf({ verdict }: SavedRun): string[] {
  return MUST_NOT_BE.map(([name]) => noneOf(verdict[name]));
}

/** A count that must be 0. */
function noneOf(count: number): string {
  return count === 0 ? "0" : `**${count}**`;
}

function duplicatesOf(duplicates: Record<string, number>): string {
  const reasons = Object.entries(duplicates)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${reason} ${count}`);
  return reasons.length === 0 ? "0" : `${number(sum(duplicates))}: ${reasons.join(", ")}`;
}

const number = (value: number) => value.toLocaleString("en");
const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);
