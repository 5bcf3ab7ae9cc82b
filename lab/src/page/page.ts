import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { withBlocks } from "@herald/docs/blocks";
import type { StoredResults } from "../results.ts";
import { otherName } from "../run-row.ts";
import { historyPlot, latencyPlot, PALETTES } from "./plots.ts";
import { figuresTable, runsTable, type Shown } from "./tables.ts";

/** The tables of docs/scaling.md. */
const TABLES: Readonly<Record<string, readonly Shown[]>> = {
  speed: [
    ["deliveries", "perSecond", "deliveries of one dispatcher, 20 endpoints"],
    ["deliveries", "bare", "requests of a bare `got` loop"],
    ["deliveries", "ratio", "the one to the other"],
    ["latency", "p50At200", "emitter to receiver at 200/s, half within"],
    ["latency", "p95At200", "95 % within"],
    ["latency", "p99", "99 % within"],
    ["hosts", "ratio", "deliveries to 5,000 receiver hosts, to those to 20"],
  ],
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

/** Of the plots. */
const PLOTTED = /^(latency\/p(50|95)At\d+|growth\/\w+(?<!Open)Ratio)$/;

/** Whether the page is made of a row's figure. */
export function isOfPage(row: string, figure: string): boolean {
  const name = figure.replace(new RegExp(`${otherName("")}$`), "");
  const shown = Object.values(TABLES).flat();
  return PLOTTED.test(`${row}/${name}`) || shown.some((each) => each[0] === row && each[1] === name);
}

/** Writes the tables of docs/scaling.md, and its plots, each for a light and a dark background. */
export function writePage(results: StoredResults): void {
  const page = join(projectFolder(), "docs", "scaling.md");
  const tables = Object.entries(TABLES).map(([name, shown]) => [name, figuresTable(results, shown)]);
  const blocks = { runs: runsTable(results), ...Object.fromEntries(tables) };
  writeFileSync(page, withBlocks(readFileSync(page, "utf8"), blocks));
  for (const [theme, palette] of Object.entries(PALETTES)) {
    const plots = { latency: latencyPlot(results, palette), history: historyPlot(results, palette) };
    for (const [name, plot] of Object.entries(plots))
      writeFileSync(join(projectFolder(), `docs/images/bench-${name}-${theme}.svg`), plot);
  }
}
