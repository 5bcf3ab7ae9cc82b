import { createRequire } from "node:module";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { atMostEach, within } from "../runtime/repeat.ts";
import { linesLost } from "./log.ts";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/** A registry with what runs in it, and `ofProcess` with the figures of a service that is alone in its process: CPU, memory, event loop, garbage collection. */
export function createRegistry(service: string, { ofProcess = true } = {}): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  // By default the event loop is looked at a hundred times a second: that is most of what an idle process does.
  if (ofProcess) collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  if (ofProcess) exportLinesLost(registry);
  new Gauge({
    name: "herald_build_info",
    help: "Always 1; its labels are the versions of Herald and Node.",
    labelNames: ["version", "node"],
    registers: [registry],
  }).set({ version: heraldVersion(), node: process.versions.node }, 1);
  return registry;
}

function exportLinesLost(registry: Registry): void {
  new Counter({
    name: "herald_log_lines_lost_total",
    help: "Lines of the log that standard output did not take: its disk is full, its reader is gone or stands still.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(linesLost());
    },
  });
}

/** A figure that is read when it is scraped; without a value it is not shown. */
export function readGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined | Promise<number | undefined>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

type Labels<Label extends string> = Readonly<Record<Label, readonly string[]>>;

/**
 * Creates metrics of a registry. `labels` has all values of each label, and every series exists from the start: a series that first appears with a 1
 * has no increase that a query can see, so an alert on it would miss the first time.
 */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  function startAtZero<Metric extends Pick<Gauge | Counter, "inc">>(metric: Metric, labels: Labels<string>): Metric {
    let series: Record<string, string>[] = [{}];
    for (const [label, values] of Object.entries(labels)) {
      series = series.flatMap((of) => values.map((value) => ({ ...of, [label]: value })));
    }
    for (const of of series) metric.inc(of, 0);
    return metric;
  }
  return {
    counter: <Label extends string = never>(name: string, help: string, labels = {} as Labels<Label>) =>
      startAtZero(new Counter({ name, help, labelNames: Object.keys(labels) as Label[], registers }), labels),
    gauge: <Label extends string = never>(name: string, help: string, labels = {} as Labels<Label>) =>
      startAtZero(new Gauge({ name, help, labelNames: Object.keys(labels) as Label[], registers }), labels),
    histogram: (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers }),
  };
}

export function heraldVersion(): string {
  // The same from the sources and from the build.
  const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };
  return version;
}

/** How long /metrics waits for what it reads, so that it answers within two seconds whatever a server does: the other figures matter most then. */
export const READING_MS = 1_500;

/** A reading that is older than this is not shown: it would mislead. */
const OLDEST_MS = 60_000;

/**
 * Reads figures for /metrics, for example from PostgreSQL. Scrapes within `lifeMs` share a reading, and at most one is under way. If it is late, the
 * one before is shown for a minute, so that a slow server's figures are late and not absent.
 */
export function reading<T>(
  lifeMs: number,
  read: () => Promise<T>,
  { lateMs = READING_MS, onFailure = () => {} }: { lateMs?: number; onFailure?: (error: unknown) => void } = {},
): () => Promise<T | undefined> {
  let last: { begunAt: number; figures: T } | undefined;
  const latest = atMostEach(lifeMs, async () => {
    const begunAt = performance.now();
    try {
      last = { begunAt, figures: await read() };
    } catch (error) {
      last = undefined;
      onFailure(error);
    }
  });
  return async () => {
    await within(lateMs, latest());
    return last && performance.now() - last.begunAt < OLDEST_MS ? last.figures : undefined;
  };
}
