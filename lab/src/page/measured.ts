import type { KeptFigure, KeptRow, StoredResults } from "../results.ts";
import type { FigureKind } from "../row.ts";
import { otherName } from "../run-row.ts";

/** A figure of the stored results, with where it comes from. */
export interface Measured extends KeptFigure {
  row: KeptRow;
  /** The same figure of the baseline, in the same run; undefined where it was not measured. */
  before: KeptFigure | undefined;
}

/** What the stored results say of a row's figure; undefined where it was not measured. */
export function measuredOf(results: StoredResults, rowName: string, figureName: string): Measured | undefined {
  return allMeasured(results).find(({ row, name }) => row.name === rowName && name === figureName);
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

/** A value as a person reads it, with its unit. */
export function amount(value: number, unit: FigureKind["unit"]): string {
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const number = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (unit === "") return number;
  return unit === "/s" || unit === "x" ? `${number}${unit}` : `${number} ${unit}`;
}
