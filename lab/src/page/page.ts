import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { withBlocks } from "@herald/docs/blocks";
import type { StoredResults } from "../results.ts";
import { otherName } from "../run-row.ts";
import { PALETTES } from "./plot.ts";
import { fairnessPlot, historyPlot, latencyPlot } from "./plots.ts";
import { sizingTable } from "./sizing.ts";
import { figuresTable, runsTable, type Shown } from "./tables.ts";

const SPEED: readonly Shown[] = [
  ["deliveries", "perSecond", "deliveries of one dispatcher, 20 endpoints"],
  ["deliveries", "bare", "requests of a bare `got` loop"],
  ["deliveries", "ratio", "the one to the other"],
  ["fan-out", "perSecond", "events of one publisher, stored with their deliveries and hinted"],
  ["latency", "p50", "emitter to receiver at 200/s, half within"],
  ["latency", "p95", "95 % within"],
  ["latency", "p99", "99 % within"],
  ["hosts", "ratio", "deliveries to 5,000 receiver hosts, to those to 20"],
];

/** Of the plots, and of the table of sizing. */
const UNSHOWN = /^(rates\/p(50|95)At\d+|growth\/\w+(?<!Held)Ratio|latency\/cpu)$/;

/** Whether the pages are made of a row's figure. */
export function isOfPages(row: string, figure: string): boolean {
  const name = figure.replace(new RegExp(`${otherName("")}$`), "");
  const shown = [...SPEED, ...COST, ...MEMORY, ...FAIRNESS, ...PROCESSES];
  return UNSHOWN.test(`${row}/${name}`) || shown.some((each) => each[0] === row && each[1] === name);
}

const COST: readonly Shown[] = [
  ["deliveries", "dispatcherCpu", "CPU of the dispatcher"],
  ["deliveries", "publisherCpu", "CPU of the publisher"],
  ["deliveries", "postgresCpu", "CPU of PostgreSQL"],
  ["deliveries", "rabbitmqCpu", "CPU of RabbitMQ"],
  ["deliveries", "wal", "PostgreSQL's log"],
  ["deliveries", "indexInsertions", "index entries"],
];

const MEMORY: readonly Shown[] = [
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
];

const FAIRNESS: readonly Shown[] = [
  ["flood", "ratio", "another organization floods: others' p95"],
  ["flood", "ownRatio", "the same, in the flooder's bucket"],
  ["flood", "worstToMiddle", "the same: the worst organization's p95 to the middle one's"],
  ["slow-crowd", "ratio", "2,500 organizations take 14 s: a quick one's rate"],
  ["slow-endpoints", "ratio", "100 endpoints of another take 14 s: a quick one's rate"],
  ["slow-manual", "ratio", "the same, and a manual delivery hangs: others' p95"],
  ["slow-manual", "manualRatio", "the same: others' manual deliveries, p95"],
  ["manual-flood", "ratioP50", "two flood their manual deliveries: a third's, p50"],
  ["manual-flood", "ratioP95", "the same: a third's, p95"],
  ["fairness", "ratio", "10 % of the endpoints hang: others' p95"],
  ["backlog", "ratio", "an endpoint has a backlog of 100,000: others' p95"],
  ["retries", "ratio", "5,000 retries come due at once: others' p95"],
  ["locked", "ratio", "an endpoint's row is locked: all deliveries' p95"],
  ["flaky", "ratio", "an endpoint fails half of its attempts: others' rate"],
  ["partition", "ratio", "a day of a million deliveries is dropped: others' p95"],
  ["purged", "longest", "every hint is lost: an event's longest way"],
  ["partition", "drop", "the drop of that day"],
  ["look", "look", "2,000 endpoints due at once: one look"],
];

const PROCESSES: readonly Shown[] = [
  ["dispatchers", "one", "deliveries of one dispatcher"],
  ["dispatchers", "two", "of two"],
  ["dispatchers", "twoRatio", "two to one"],
  ["dispatchers", "four", "of four"],
  ["dispatchers", "fourRatio", "four to one"],
  ["dispatchers", "dispatcherRatio", "CPU a delivery, dispatchers, four to one"],
  ["dispatchers", "postgresRatio", "CPU a delivery, PostgreSQL, four to one"],
];

/** Writes the tables of docs/scaling.md and docs/operating/sizing.md, and the plots, each for a light and a dark background. */
export function writePages(results: StoredResults): void {
  rewrite("docs/scaling.md", {
    runs: runsTable(results),
    speed: figuresTable(results, SPEED),
    "cost of a delivery": figuresTable(results, COST),
    memory: figuresTable(results, MEMORY),
    fairness: figuresTable(results, FAIRNESS),
    processes: figuresTable(results, PROCESSES),
  });
  rewrite("docs/operating/sizing.md", { sizing: sizingTable(results) });
  for (const [theme, palette] of Object.entries(PALETTES)) {
    const plots = {
      latency: latencyPlot(results, palette),
      history: historyPlot(results, palette),
      fairness: fairnessPlot(results, FAIRNESS, palette),
    };
    for (const [name, plot] of Object.entries(plots))
      writeFileSync(join(projectFolder(), `docs/images/bench-${name}-${theme}.svg`), plot);
  }
}

function rewrite(page: string, blocks: Record<string, string>): void {
  const path = join(projectFolder(), page);
  writeFileSync(path, withBlocks(readFileSync(path, "utf8"), blocks));
}
