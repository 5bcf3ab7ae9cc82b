import { table } from "@herald/docs/blocks";
import type { StoredResults } from "../results.ts";
import { amount, type Measured, measuredOf } from "./measured.ts";

/** A figure of the page: its row and name in the results, and what the page calls it. */
export type Shown = readonly [row: string, figure: string, words: string];

/** One line a figure: its median, the spread over the rounds, the same before, and its bar. What was not measured is left out. */
export function figuresTable(results: StoredResults, shown: readonly Shown[]): string {
  const lines = shown.flatMap(([row, figure, words]) => {
    const measured = measuredOf(results, row, figure);
    return measured ? [line(measured, words)] : [];
  });
  if (lines.length === 0) return "Not measured yet.";
  return table(["figure", "median", "lowest - highest", "before", "bar"], lines);
}

function line(measured: Measured, words: string): string[] {
  const { median, lowest, highest, before, unit } = measured;
  return [
    words,
    amount(median, unit),
    `${amount(lowest, "")} - ${amount(highest, "")}`,
    before ? amount(before.median, unit) : "",
    barOf(measured),
  ];
}

function barOf({ bar, met, unit }: Measured): string {
  if (!bar) return "";
  const asked = "atLeast" in bar ? `>= ${amount(bar.atLeast, unit)}` : `<= ${amount(bar.atMost, unit)}`;
  return met ? asked : `${asked}, **missed**`;
}

/** Where and when each row was measured. */
export function runsTable({ runs }: StoredResults): string {
  if (runs.length === 0) return "Not measured yet.";
  return table(
    ["date", "commit", "beside", "machine", "load before", "rounds", "rows"],
    runs.map(({ date, commit, baseline, machine, rounds, seconds, rows }) => [
      date,
      `\`${commit}\``,
      baseline ? `\`${baseline}\`` : "",
      `${machine.cores} x ${machine.processor}, ${machine.memoryGibibytes} GiB, Node ${machine.node.slice(1)}`,
      String(machine.loadBefore),
      `${rounds} of ${seconds} s`,
      rows
        .map(({ name, growth }) => (growth === undefined ? name : `${name} ${growth.toLocaleString("en")}`))
        .join(", "),
    ]),
  );
}
