import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { table, withBlocks } from "@herald/docs/blocks";
import type { KeptFigure, KeptRow, StoredResults } from "./results.ts";
import type { Bar, FigureKind } from "./row.ts";
import { otherName, type RowResult } from "./run-row.ts";

/** A figure of the page: its row and name in the results, and what the page calls it. */
type Shown = readonly [row: string, figure: string, words: string];

/** The tables of docs/scaling.md. */
const TABLES: Readonly<Record<string, readonly Shown[]>> = {
  speed: [
    ["deliveries", "perSecond", "deliveries of one dispatcher, 20 endpoints"],
    ["deliveries", "bare", "requests of a bare `got` loop"],
    ["deliveries", "ratio", "the one to the other"],
    ["latency", "p99", "emitter to receiver at 200/s, 99 % within"],
    ["hosts", "ratio", "deliveries to 5,000 receiver hosts, to those to 20"],
  ],
  latency: [50, 100, 200, 400, 800].flatMap((rate): Shown[] => [
    ["latency", `p50At${rate}`, `emitter to receiver at ${rate}/s, half within`],
    ["latency", `p95At${rate}`, "95 % within"],
  ]),
  "cost of a delivery": [
    ["deliveries", "dispatcherCpu", "CPU of the dispatcher"],
    ["deliveries", "publisherCpu", "CPU of the publisher"],
    ["deliveries", "postgresCpu", "CPU of PostgreSQL"],
    ["deliveries", "rabbitmqCpu", "CPU of RabbitMQ"],
    ["deliveries", "wal", "PostgreSQL's log"],
    ["deliveries", "indexInsertions", "index entries"],
    ["latency", "cpu", "CPU of all four, at 200/s"],
  ],
  memory: [
    ["memory", "load-dispatcher", "dispatcher, under load"],
    ["memory", "load-publisher", "publisher, under load"],
    ["memory", "load-management-api", "management API, under load"],
    [
      "memory",
      "large-dispatcher",
      "dispatcher, with 2,000 bodies of 256 KiB waiting while PostgreSQL says nothing for 20 s",
    ],
    ["memory", "large-publisher", "publisher, the same"],
    ["memory", "large-management-api", "management API, the same"],
    ["memory", "died", "processes that died"],
  ],
  fairness: [
    ["flood", "floodRatio", "another organization floods: others' p95"],
    ["flood", "ownRatio", "the same, in the flooder's bucket"],
    ["flood", "worstToMiddle", "the same: the worst organization's p95 to the middle one's"],
    ["slow-crowd", "someRatio", "500 organizations take 14 s: a quick one's rate"],
    ["slow-crowd", "ratio", "2,500 organizations take 14 s: a quick one's rate"],
    ["backlog", "backlogRatio", "an endpoint has a backlog of 100,000: others' p95"],
    ["backlog", "retriesRatio", "5,000 retries come due at once: others' p95"],
    ["backlog", "lockedRatio", "an endpoint's row is locked: all deliveries' p95"],
    ["partition", "partitionRatio", "a day of a million deliveries is dropped: others' p95"],
    ["partition", "drop", "the drop of that day"],
  ],
  processes: [
    ["dispatchers", "one", "deliveries of one dispatcher"],
    ["dispatchers", "two", "of two"],
    ["dispatchers", "twoRatio", "two to one"],
    ["dispatchers", "four", "of four"],
    ["dispatchers", "fourRatio", "four to one"],
    ["dispatchers", "dispatcherRatio", "CPU a delivery, dispatchers, four to one"],
    ["dispatchers", "postgresRatio", "CPU a delivery, PostgreSQL, four to one"],
  ],
};

/** Steps of the growth row. A heartbeat is none: it touches no history. */
const STEPS: Readonly<Record<string, string>> = {
  storeRatio: "store events",
  sweepRatio: "a sweep",
  readRatio: "read deliveries",
  settleRatio: "settle",
  catchUpRatio: "a catch-up's page",
  listRatio: "GET /webhooks",
};

/** Whether the page is made of a row's figure. */
export function isOfPage(row: string, figure: string): boolean {
  const name = figure.replace(new RegExp(`${otherName("")}$`), "");
  const shown = Object.values(TABLES).flat();
  return (row === "growth" && name in STEPS) || shown.some((each) => each[0] === row && each[1] === name);
}

/** Writes the tables of docs/scaling.md. */
export function writePage(results: StoredResults): void {
  const page = join(projectFolder(), "docs", "scaling.md");
  const tables = Object.entries(TABLES).map(([name, shown]) => [name, figuresTable(results, shown)]);
  const blocks = { runs: runsTable(results), history: historyTable(results), ...Object.fromEntries(tables) };
  writeFileSync(page, withBlocks(readFileSync(page, "utf8"), blocks));
}

/** A figure of the stored results, with where it comes from. */
interface Measured extends KeptFigure {
  row: KeptRow;
  /** The same figure of the baseline, in the same run; undefined where it was not measured. */
  before: KeptFigure | undefined;
}

/** Every figure that was measured, the baseline's apart: those are the `before` of others. */
function allMeasured({ runs }: StoredResults): Measured[] {
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
function figuresTable(results: StoredResults, shown: readonly Shown[]): string {
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
  const asked = bar ? barText(bar, unit) : "";
  return [
    words,
    amount(median, unit),
    `${amount(lowest, "")} - ${amount(highest, "")}`,
    before ? amount(before.median, unit) : "",
    bar && !met ? `${asked}, **missed**` : asked,
  ];
}

/** Each hot statement with a long history, as a multiple of the same with a short one, for each size of the history. */
function historyTable(results: StoredResults): string {
  const ratios = allMeasured(results)
    .filter(({ row, name }) => row.name === "growth" && name in STEPS)
    .sort((one, other) => (one.row.growth ?? 0) - (other.row.growth ?? 0));
  const steps = Object.keys(STEPS).filter((step) => ratios.some(({ name }) => name === step));
  const sizes = [...new Set(ratios.map(({ row }) => row.growth ?? 0))];
  const [{ bar } = {}] = ratios;
  const lines = sizes.map((size) => [
    size.toLocaleString("en"),
    ...steps.map((step) => {
      const found = ratios.find(({ row, name }) => row.growth === size && name === step);
      return found ? `${amount(found.median, found.unit)}${found.met === false ? ", **missed**" : ""}` : "";
    }),
    bar ? barText(bar, "x") : "",
  ]);
  return table(["finished deliveries stored", ...steps.map((step) => STEPS[step] ?? ""), "bar"], lines);
}

/** A value as a person reads it, with its unit. */
function amount(value: number, unit: FigureKind["unit"]): string {
  if (Number.isNaN(value)) return "not known";
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const number = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (unit === "") return number;
  return unit === "/s" || unit === "%" || unit === "x" ? `${number}${unit}` : `${number} ${unit}`;
}

/** Where and when each row was measured. */
function runsTable({ runs }: StoredResults): string {
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
      figure.bar ? `${figure.met ? "met" : "MISSED"}, ${barText(figure.bar, figure.unit)}` : "",
    ].join("  "),
  );
  return [title, `  (${conditions})`, ...lines.map((line) => line.trimEnd())].join("\n");
}

function barText(bar: Bar, unit: FigureKind["unit"]): string {
  return "atLeast" in bar ? `>= ${amount(bar.atLeast, unit)}` : `<= ${amount(bar.atMost, unit)}`;
}
