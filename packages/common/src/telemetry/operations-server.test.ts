import { expect, test } from "@jest/globals";
import { Counter, Gauge, Histogram, Registry } from "./metrics.ts";
import { exportDependencies, joinMetrics } from "./operations-server.ts";

function registryOf(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  new Gauge({ name: "up", help: "Whether it runs.", registers: [registry] }).set(1);
  return registry;
}

test("a metric of two registries stands once, with the series of both", async () => {
  const [first, second] = [registryOf("publisher"), registryOf("dispatcher")];
  new Counter({ name: "attempts_total", help: "Attempts.", labelNames: ["outcome"], registers: [second] }).inc({
    outcome: "failed",
  });
  expect(joinMetrics(await Promise.all([first.metrics(), second.metrics()]))).toBe(`# HELP up Whether it runs.
# TYPE up gauge
up{service="publisher"} 1
up{service="dispatcher"} 1

# HELP attempts_total Attempts.
# TYPE attempts_total counter
attempts_total{outcome="failed",service="dispatcher"} 1
`);
});

test("the metrics of one registry stay as they are, also those that have no series yet", async () => {
  const registry = registryOf("publisher");
  new Counter({ name: "notices_total", help: "Notices.", labelNames: ["type"], registers: [registry] });
  new Histogram({ name: "batch", help: "A batch's size.", buckets: [1, 10], registers: [registry] }).observe(3);
  const text = await registry.metrics();
  expect(joinMetrics([text])).toBe(text);
});

test("a part that never says whether it can be used counts as one that can't, and the metrics answer", async () => {
  const registry = new Registry();
  exportDependencies(registry, { database: () => new Promise(() => {}), broker: () => true });
  const text = await registry.metrics();
  expect(text).toContain('herald_dependency_up{dependency="database"} 0\nherald_dependency_up{dependency="broker"} 1');
});
