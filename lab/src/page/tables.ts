import { table } from "@herald/docs/blocks";
import type { KeptFigure, KeptRow, StoredResults } from "../results.ts";
import type { FigureKind } from "../row.ts";
import { otherName } from "../run-row.ts";

/** A figure of the page: its row and name in the results, and what the page calls it. */
export type Shown = readonly [row: string, figure: string, words: string];

/** A figure of the stored results, with where it comes from. */
export interface Measured extends KeptFigure {
  row: KeptRow;
  /** The same figure of the baseline, in the same run; undefined where it was not measured. */
  before: KeptFigure | undefined;
}

/** Every figure that was measured, the baseline's apart: those are the `before` of others. */
export function allMeasured({ runs }: StoredResults): Measured[] {
  return runs.flatMap((run) =>
    run.rows.flatMap((row) => {
      const known = new Map(row.figures.map((figure) => [figure.name, figure]));
      return row.figures
        .filter(({ name }) => !name.endsWith(otherName("")))
        .map((figure) => ({ ...figure, row, before: known.get(otherName(figure.name)) }));
    }),
  );
}

/** One line a figure: its median, the spread over the rounds, the same before, and its bar. What was not measured is left out. */
export function figuresTable(results: StoredResults, shown: readonly Shown[]): string {
  const measured = allMeasured(results);
  const lines = shown.flatMap(([rowName, figure, words]) => {
    const found = measured.find(({ row, name }) => row.name === rowName && name === figure);
    return found ? [line(found, words)] : [];
  });
  if (lines.length === 0) return "Not measured yet.";
  return table(["figure", "median", "lowest - highest", "before", "bar"], lines);
}

function line(measured: Measured, words: string): string[] {
  const { median, lowest, highest, before, unit, bar, met } = measured;
  const asked = bar ? ("atLeast" in bar ? `>= ${amount(bar.atLeast, unit)}` : `<= ${amount(bar.atMost, unit)}`) : "";
  return [
    words,
    amount(median, unit),
    `${amount(lowest, "")} - ${amount(highest, "")}`,
    before ? amount(before.median, unit) : "",
    bar && !met ? `${asked}, **missed**` : asked,
  ];
}

/** A value as a person reads it, with its unit. */
export function amount(value: number, unit: FigureKind["unit"]): string {
  if (Number.isNaN(value)) return "not known";
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const number = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (unit === "") return number;
  return unit === "/s" || unit === "%" || unit === "x" ? `${number}${unit}` : `${number} ${unit}`;
}

/** Where and when each row was measured. */
export function runsTable({ runs }: StoredResults): string {
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
