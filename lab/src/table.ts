import type { FigureKind } from "./row.ts";
import type { Figure, RowResult } from "./run-row.ts";

/** The results as text: per row its conditions, then a line a figure: median, spread over the rounds, bar. */
export function resultsText(rows: readonly RowResult[]): string {
  return rows.map(rowText).join("\n\n");
}

function rowText({ title, conditions, figures }: RowResult): string {
  const lines = figures.map((figure) =>
    [
      `  ${figure.label.padEnd(56)}`,
      amount(figure.median, figure.unit).padStart(13),
      (Number.isNaN(figure.median) ? "" : `${amount(figure.lowest, "")} - ${amount(figure.highest, "")}`).padStart(20),
      barText(figure),
    ].join("  "),
  );
  return [title, `  (${conditions})`, ...lines.map((line) => line.trimEnd())].join("\n");
}

function barText({ bar, met, unit }: Figure): string {
  if (bar === undefined) return "";
  const asked = "atLeast" in bar ? `>= ${amount(bar.atLeast, unit)}` : `<= ${amount(bar.atMost, unit)}`;
  return `${met ? "met" : "MISSED"}, ${asked}`;
}

/** A value as a person reads it, with its unit. */
function amount(value: number, unit: FigureKind["unit"]): string {
  if (Number.isNaN(value)) return "not known";
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const number = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (unit === "") return number;
  return unit === "/s" || unit === "%" || unit === "x" ? `${number}${unit}` : `${number} ${unit}`;
}
