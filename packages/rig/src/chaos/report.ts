import type { RunResult } from "./run.ts";
import type { Findings } from "./verdict/reconcile.ts";

/** Each with what it must be. */
const ROWS: readonly [keyof Findings, string][] = [
  ["lost", "lost"],
  ["tooManyAttempts", "more than five attempts"],
  ["afterDisabling", "attempts to a disabled endpoint"],
  ["forged", "wrong signature or body"],
  ["unending", "without an end"],
  ["unexplainedDuplicates", "duplicates that nothing explains"],
  ["wronglyDisabled", "wrongly or silently disabled"],
  ["crashed", "services that ended by themselves"],
];

export interface ReportHead {
  seed: number;
  seconds: number;
  rate: number;
  plan: string;
}

/** The report of a run for programs. */
export function reportOf(head: ReportHead, { verdict, quietAfterMs }: RunResult) {
  const { passed, findings, figures } = verdict;
  const counts = Object.fromEntries(Object.entries(findings).map(([name, list]) => [name, list.length]));
  return { ...head, passed, verdict: counts, figures: { ...figures, quietAfterMs } };
}

const EXAMPLES = 10;

/** The same for people. */
export function tableOf(head: ReportHead, { verdict, quietAfterMs }: RunResult): string {
  const { passed, findings, figures } = verdict;
  const list = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  const duplicates = Object.values(figures.duplicates).reduce((sum, count) => sum + count, 0);
  const rows: [string, string][] = [
    ["seed, plan", `${head.seed}, ${head.plan}`],
    ["load", `${head.rate} events/s for ${head.seconds} s`],
    ["faults", list(figures.faults)],
    ["events emitted, confirmed", `${figures.events}, ${figures.confirmed}`],
    ["deliveries succeeded, exhausted", `${figures.succeeded}, ${figures.exhausted}`],
    ["requests received", String(figures.requests)],
    ["attempts interrupted", String(figures.interrupted)],
    ["accepted, yet exhausted", String(figures.acceptedYetExhausted)],
    ["endpoints disabled by Herald", String(figures.disabledByHerald)],
    [
      "under way when disabled",
      `${figures.underWayWhenDisabled}, the latest after ${figures.latestAfterDisablingMs} ms`,
    ],
    ["quiet after", `${(quietAfterMs / 1_000).toFixed(1)} s`],
    ["duplicates", duplicates === 0 ? "0" : `${duplicates}: ${list(figures.duplicates)}`],
    ...ROWS.map(([key, name]): [string, string] => [`${name} (must be 0)`, String(findings[key].length)]),
    ["verdict", passed ? "passed" : "FAILED"],
  ];
  const examples = ROWS.flatMap(([key, name]) =>
    findings[key].slice(0, EXAMPLES).map((example) => `${name}: ${example}`),
  );
  return [...rows.map(([name, value]) => `${name.padEnd(48)} ${value}`), ...examples].join("\n");
}
