import type { ScenarioResult } from "./scenarios/scenario.ts";
import { type Findings, MUST_NOT_BE } from "./verdict/reconcile.ts";

export interface ReportHead {
  scenario: string;
  seed: number;
  seconds: number;
  rate: number;
}

/** Nothing was found, neither by the verdict nor by what the scenario itself demands. */
export function hasPassed({ verdict, complaints }: ScenarioResult): boolean {
  return verdict.passed && complaints.length === 0;
}

const NAMES = Object.keys(MUST_NOT_BE) as (keyof Findings)[];

/** The report of a run for programs. */
export function reportOf(head: ReportHead, result: ScenarioResult) {
  const { verdict, history, quietAfterMs, extra, complaints } = result;
  const { findings, figures } = verdict;
  return {
    ...head,
    passed: hasPassed(result),
    verdict: Object.fromEntries(NAMES.map((name) => [name, findings[name].length])),
    complaints,
    extra,
    figures: { ...figures, quietAfterMs, stoodStillMs: history.stoodStillMs },
  };
}

const EXAMPLES = 10;

/** The same for people. */
export function tableOf(head: ReportHead, result: ScenarioResult): string {
  const { verdict, history, quietAfterMs, extra, complaints } = result;
  const { findings, figures } = verdict;
  const list = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  const sumOf = (counts: Record<string, number>) => {
    const sum = Object.values(counts).reduce((total, count) => total + count, 0);
    return sum === 0 ? "0" : `${sum}: ${list(counts)}`;
  };
  const rows: [string, string][] = [
    ["scenario, seed", `${head.scenario}, ${head.seed}`],
    ["load", `${head.rate} events/s for ${head.seconds} s`],
    ["faults", list(figures.faults)],
    ["events emitted, confirmed", `${figures.events}, ${figures.confirmed}`],
    ["deliveries succeeded, exhausted", `${figures.succeeded}, ${figures.exhausted}`],
    ["requests received", String(figures.requests)],
    ["attempts failed", String(figures.failedAttempts)],
    ["accepted, yet exhausted", String(figures.acceptedYetExhausted)],
    ["endpoints disabled by Herald", String(figures.disabledByHerald)],
    ["quiet after", `${(quietAfterMs / 1_000).toFixed(1)} s`],
    ["duplicates", sumOf(figures.duplicates)],
    ["requests whose results were lost", sumOf(figures.withoutAttempt)],
    ["the machine stood still for up to", `${history.stoodStillMs} ms`],
    ...NAMES.map((name): [string, string] => [`${MUST_NOT_BE[name]} (must be 0)`, String(findings[name].length)]),
    ...Object.entries(extra).map(([name, value]): [string, string] => [name, String(value)]),
    ["verdict", hasPassed(result) ? "passed" : "FAILED"],
  ];
  const examples = NAMES.flatMap((name) =>
    findings[name].slice(0, EXAMPLES).map((example) => `${MUST_NOT_BE[name]}: ${example}`),
  );
  return [...rows.map(([name, value]) => `${name.padEnd(48)} ${value}`), ...examples, ...complaints].join("\n");
}
