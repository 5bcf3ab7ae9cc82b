import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type Cell, nameOf } from "./cells.ts";
import { TIERS } from "./tiers.ts";

/** Where it is kept what ran: `pnpm compatibility --save` writes it. */
export const COMPATIBILITY = "docs/compatibility.json";

/** The environment variable that names the file into which the tests of a cell write {@link Versions}. */
export const VERSIONS_FILE = "HERALD_COMPATIBILITY_VERSIONS_FILE";

/** What ran, in the words of each program about itself. */
export interface Versions {
  node: string;
  postgres: string;
  rabbitmq: string;
  /** Undefined without a pooler. */
  pooler?: string;
}

/** One tier of tests in one cell. */
export interface CellRun extends Cell {
  /** The name of a tier. */
  tier: string;
  passed: boolean;
  /** How many tests passed, and the titles of those that failed. */
  tests: number;
  failed: string[];
  /** Undefined where the servers did not come up. */
  versions?: Versions;
  commit: string;
  /** As 2026-11-22. */
  date: string;
}

/** The latest run of each tier in each cell. */
export interface CellRuns {
  runs: CellRun[];
}

export function readCellRuns(file: string): CellRuns {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as CellRuns) : { runs: [] };
}

/** Saves a run in the place of an earlier one of the same cell and tier. */
export function saveCellRun(file: string, run: CellRun): void {
  const { runs } = readCellRuns(file);
  const order = (each: CellRun) => `${nameOf(each)} ${TIERS.findIndex(({ name }) => name === each.tier)}`;
  const others = runs.filter((each) => order(each) !== order(run));
  const sorted = [...others, run].sort((one, other) => order(one).localeCompare(order(other)));
  writeFileSync(file, `${JSON.stringify({ runs: sorted }, null, 2)}\n`);
}

/** Whether this tier has passed in this cell on this code, so that it need not run again. */
export function hasPassed({ runs }: CellRuns, cell: Cell, tier: string, commit: string): boolean {
  return runs.some((run) => nameOf(run) === nameOf(cell) && run.tier === tier && run.commit === commit && run.passed);
}
