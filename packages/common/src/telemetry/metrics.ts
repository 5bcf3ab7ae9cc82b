import { createRequire } from "node:module";
import { type Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/**
 * A registry with what runs in it, and with the process's own figures: CPU, memory, event loop, garbage collection.
 *
 * @param options `ofProcess` is false for a service that is one of several in its process: the figures are not its own
 */
export function createRegistry(service: string, { ofProcess = true }: { ofProcess?: boolean } = {}): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  if (ofProcess) collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "herald_build_info",
    help: "Always 1; its labels say what runs.",
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

/** As in package.json. */
export function heraldVersion(): string {
  // The same from the sources and from the build.
  const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };
  return version;
}
