import { createRequire } from "node:module";
import { type Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

export interface RegistryOptions {
  /** False for a service that is one of several in its process: the process's figures are not its own. */
  ofProcess?: boolean;
}

/** A registry with what runs in it, and with the process's own figures: CPU, memory, event loop, garbage collection. */
export function createRegistry(service: string, { ofProcess = true }: RegistryOptions = {}): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  // By default the event loop is looked at a hundred times a second: that is most of what an idle process does.
  if (ofProcess) collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  new Gauge({
    name: "herald_build_info",
    help: "Always 1; its labels are the versions of Herald and Node.",
    labelNames: ["version", "node"],
    registers: [registry],
  }).set({ version: heraldVersion(), node: process.versions.node }, 1);
  return registry;
}

/**
 * Makes every series of a counter exist from the start. A series that first appears with a 1 has no increase that a query
 * can see, so an alert on it would miss the first time.
 */
export function startAtZero<Label extends string>(
  counter: Counter<Label>,
  label: Label,
  values: readonly string[],
): void {
  for (const value of values) counter.inc({ [label]: value } as Record<Label, string>, 0);
}

/** Herald's version, as in package.json. */
export function heraldVersion(): string {
  // The same from the sources and from the build.
  const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };
  return version;
}
