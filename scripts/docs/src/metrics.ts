import { relayMetrics } from "@herald/cli/relay/start-relay-service";
import { exportConnections, exportMemoryLimit } from "@herald/common/service/open-process";
import { exportDifferences } from "@herald/common/service/processes";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { exportDependencies } from "@herald/common/telemetry/operations-server";
import { createMetrics as createDispatcherMetrics, exportUnstored } from "@herald/dispatcher";
import { observe } from "@herald/management-api";
import { createMetrics as createPublisherMetrics, exportHeldEvents, exportLag } from "@herald/publisher";

/** A metric as services export it. */
export interface ExportedMetric {
  name: string;
  type: string;
  help: string;
  labels: string[];
  services: string[];
}

type Registry = ReturnType<typeof createRegistry>;

/** In place of a metric's source. Here nothing is collected: only the definitions count. */
const unread = undefined as never;

/** How each service registers its own metrics, and `herald relay` does. A test of running services finds one that is missing here. */
const registrations: Record<string, (registry: Registry) => void> = {
  "management-api": (registry) => observe(unread, registry, undefined),
  publisher: (registry) => {
    const metrics = createPublisherMetrics(registry);
    exportHeldEvents(registry, unread);
    exportLag(
      registry,
      {
        ...{ log: unread, queries: unread, probes: unread, inspector: unread, names: {} as never, clock: unread },
        metrics,
      },
      { endpointConcurrency: unread },
    );
  },
  dispatcher: (registry) => {
    createDispatcherMetrics(registry);
    exportUnstored(registry, unread);
  },
  relay: (registry) => relayMetrics(registry, unread),
};

/** Herald's own metrics by name, as the services register them. Nothing runs for it. */
export function heraldMetrics(): ExportedMetric[] {
  const metrics = new Map<string, ExportedMetric>();
  for (const [service, register] of Object.entries(registrations)) {
    const registry = createRegistry(service);
    exportDependencies(registry, {});
    if (service !== "relay") {
      exportConnections(registry, { broker: unread, database: unread });
      exportDifferences(registry);
      exportMemoryLimit(registry);
    }
    register(registry);
    // prom-client's metrics have their label names and a type in words; its types don't say so.
    const registered = registry.getMetricsAsArray() as unknown as (Omit<ExportedMetric, "labels"> & {
      labelNames: string[];
    })[];
    for (const { name, type, help, labelNames } of registered) {
      if (!name.startsWith("herald_")) continue;
      const known = metrics.get(name);
      if (known) known.services.push(service);
      else metrics.set(name, { name, type, help, labels: labelNames, services: [service] });
    }
  }
  return [...metrics.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `docs/operating/metrics.md` */
export function metricsDocument(metrics: readonly ExportedMetric[]): string {
  const rows = metrics.map(({ name, type, help, labels, services }) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${shown} | ${services.join(", ")} | ${help} |`;
  });
  return `${HEAD}
| metric | type | labels | exported by | meaning |
|---|---|---|---|---|
${rows.join("\n")}
`;
}

const HEAD = `# Metrics

Each service, and \`herald relay\`, answers \`/metrics\` on \`OPERATIONS_PORT\` (9464), each series with the label \`service\`, and prom-client's \`process_*\` and \`nodejs_*\` beside these.
Take the \`max\` of gauges that publishers alone export: they are figures of all of Herald, and absent if they can't be read. Take the \`sum\` of all others. Each Herald has
a \`job\` or a \`namespace\` of its own.
`;
