import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Machine } from "./machine.ts";
import type { Figure, RowResult } from "./run-row.ts";

interface Run<Row> {
  machine: Machine;
  /** Of the code that was measured, as git names it; with "-dirty" where code was not committed. */
  commit: string;
  /** As 2026-11-22. */
  date: string;
  seconds: number;
  rounds: number;
  /** The commit that figures are set beside, as it was asked for. */
  baseline?: string | undefined;
  rows: Row[];
}

/** One run of the bench: what `--json` prints. */
export type BenchReport = Run<RowResult>;

/** What is kept of a figure: no round's own value. */
export type KeptFigure = Pick<Figure, "name" | "unit" | "bar" | "met" | "median" | "lowest" | "highest">;

export interface KeptRow extends Pick<RowResult, "name" | "growth"> {
  figures: KeptFigure[];
}

export type KeptRun = Run<KeptRow>;

/** What a file of `--save` holds: medians of the latest result of each row, with the run that it is from. */
export interface StoredResults {
  runs: KeptRun[];
}

export function readResults(file: string): StoredResults {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as StoredResults) : { runs: [] };
}

/** One line a figure, so that a change can be read. */
export function writeResults(file: string, { runs }: StoredResults): void {
  const block = (object: object, name: string, items: string[]) =>
    `${JSON.stringify(object).slice(0, -1)},"${name}":[\n${items.join(",\n")}\n]}`;
  const lines = runs.map(({ rows, ...run }) =>
    block(
      run,
      "rows",
      rows.map(({ figures, ...row }) =>
        block(
          row,
          "figures",
          figures.map((figure) => JSON.stringify(figure)),
        ),
      ),
    ),
  );
  writeFileSync(file, `${block({ of: "pnpm bench" }, "runs", lines)}\n`);
}

/** What of a run is kept: figures of the pages, each to six digits. Pure. */
export function summaryOf({ rows, ...run }: Run<KeptRow>, isKept: (row: string, figure: string) => boolean): KeptRun {
  const digits = (value: number) => Number(value.toPrecision(6));
  const kept = rows.map(({ name, growth, figures }) => ({
    ...{ name, ...(growth !== undefined && { growth }) },
    figures: figures
      .filter((figure) => isKept(name, figure.name) && Number.isFinite(figure.median))
      .map(({ name, unit, bar, met, median, lowest, highest }) => ({
        ...{ name, unit, median: digits(median), lowest: digits(lowest), highest: digits(highest) },
        ...(bar && met !== undefined && { bar, met }),
      })),
  }));
  return { ...run, rows: kept.filter(({ figures }) => figures.length > 0) };
}

/** Puts a run's rows in the place of those that the results have; a run of which no row is left goes. Pure. */
export function mergeResults({ runs }: StoredResults, run: KeptRun): StoredResults {
  const fresh = new Set(run.rows.map(keyOf));
  const kept = runs.map((earlier) => ({ ...earlier, rows: earlier.rows.filter((row) => !fresh.has(keyOf(row))) }));
  return { runs: [...kept.filter(({ rows }) => rows.length > 0), run] };
}

function keyOf({ name, growth }: KeptRow): string {
  return `${name}/${growth ?? ""}`;
}
