import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import type { Figure, RowResult } from "./run-row.ts";

/** What the figures were measured on. `loadBefore` above zero means that others worked on it too. */
export interface Machine {
  cores: number;
  processor: string;
  memoryGibibytes: number;
  node: string;
  /** Mean number of processes that wanted a core in the minute before the run. */
  loadBefore: number;
}

export function machine(): Machine {
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model ?? "unknown",
    memoryGibibytes: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(1)),
  };
}

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

/** What a file of `--save` holds: medians of the latest result of each row, with the run that it is from. */
export interface StoredResults {
  runs: Run<KeptRow>[];
}

export function readResults(file: string): StoredResults {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as StoredResults) : { runs: [] };
}

/** One line a figure, so that a change can be read. */
export function writeResults(file: string, { runs }: StoredResults): void {
  const lines = JSON.stringify({ of: "pnpm bench", runs }).replaceAll(
    /(?<=\[)(?=\{)|(?<=\},)(?=\{"name")|(?<=\},)(?=\{"machine")/g,
    "\n",
  );
  writeFileSync(file, `${lines}\n`);
}

/** Puts what is kept of a run's rows in the place of those that the results have; a run of which no row is left goes. Pure. */
export function mergeResults(
  { runs }: StoredResults,
  { rows, ...run }: BenchReport,
  isKept: (row: string, figure: string) => boolean,
): StoredResults {
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
  const keyOf = ({ name, growth }: KeptRow) => `${name}/${growth ?? ""}`;
  const fresh = new Set(kept.map(keyOf));
  const earlier = runs.map((each) => ({ ...each, rows: each.rows.filter((row) => !fresh.has(keyOf(row))) }));
  const all = [...earlier, { ...run, rows: kept.filter(({ figures }) => figures.length > 0) }];
  return { runs: all.filter(({ rows }) => rows.length > 0) };
}
