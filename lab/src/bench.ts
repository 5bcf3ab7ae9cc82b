import { cpus, loadavg, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { buildBaseline, openBenchEnvironment } from "./environment.ts";
import type { FigureKind, Row } from "./row.ts";
import { backlogRow } from "./rows/backlog.ts";
import { deliveriesRow } from "./rows/deliveries.ts";
import { floodRow } from "./rows/flood.ts";
import { floorRow } from "./rows/floor.ts";
import { hostsRow } from "./rows/hosts.ts";
import { latencyRow } from "./rows/latency.ts";
import { memoryRow } from "./rows/memory.ts";
import { overloadRow } from "./rows/overload.ts";
import { senderRow } from "./rows/sender.ts";
import { slowCrowdRow } from "./rows/slow-crowd.ts";
import { type Figure, type RowResult, runRow } from "./run-row.ts";

/** A row's results as text: its conditions, then a line a figure: median, spread over the rounds, bar. */
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

/** The rows of `pnpm bench`, in the order in which it measures them. */
const ROWS: readonly Row[] = [
  senderRow,
  latencyRow,
  deliveriesRow,
  floorRow,
  overloadRow,
  backlogRow,
  floodRow,
  slowCrowdRow,
  hostsRow,
  memoryRow,
];

const USAGE = `pnpm bench [options]: measures Herald on this machine, with a PostgreSQL, a RabbitMQ and a receiver of its own.

  --only a,b         rows to measure: ${ROWS.map(({ name }) => name).join(", ")}
  --seconds N        how long each figure is measured in a round (5)
  --rounds N         rounds; the table shows their medians and spread (3)
  --baseline COMMIT  builds this commit into .local, and measures with it too, by turns`;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    baseline: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit();
}
const only = values.only?.split(",");
const unknown = only?.filter((name) => !ROWS.some((row) => row.name === name)) ?? [];
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
if (unknown.length > 0 || !(seconds > 0) || !(rounds >= 1)) {
  console.error(unknown.length > 0 ? `There is no row "${unknown.join('", "')}".\n\n${USAGE}` : USAGE);
  process.exit(2);
}

const progress = (text: string) => console.error(`${text} ...`);
const baselineFolder = values.baseline && (await buildBaseline(values.baseline, progress));
const [load = 0] = loadavg();
const environment = await openBenchEnvironment(progress);
const baseline = baselineFolder ? environment.withCode(baselineFolder) : undefined;
const rows: RowResult[] = [];
/** A row that can't be measured takes no others with it. */
let failed = false;
try {
  for (const row of ROWS) {
    if (only && !only.includes(row.name)) continue;
    try {
      rows.push(await runRow(row, environment, { seconds, rounds, baseline, progress }));
    } catch (error) {
      failed = true;
      console.error(`The row ${row.name} could not be measured:`, error);
    }
  }
} finally {
  await environment.close();
}

const memoryGibibytes = Math.round(totalmem() / 1024 ** 3);
console.log(
  `\n${cpus().length} x ${cpus()[0]?.model}, ${memoryGibibytes} GiB, node ${process.version}, load before: ${load.toFixed(1)}`,
);
console.log(`Medians of ${rounds} rounds, and lowest and highest.\n`);
console.log(rows.map(rowText).join("\n\n"));
// A bar that was missed is a finding; an event that was lost is a fault, and makes the other figures worthless.
failed ||= rows.some(({ figures }) =>
  figures.some(({ bar, met }) => bar && "atMost" in bar && bar.atMost === 0 && !met),
);
// A baseline that could not be measured may have left something open.
process.exit(failed ? 1 : 0);
