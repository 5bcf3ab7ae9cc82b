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
  "management-api": (registry) => observe({ registry, log: unread }),
  publisher: (registry) => {
    createPublisherMetrics(registry);
    exportHeldEvents(registry, unread);
    exportLag(
      registry,
      { log: unread, queries: unread, probes: unread, inspector: unread, names: {} as never, clock: unread },
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

Each service, and \`herald relay\`, answers \`/metrics\` on \`OPERATIONS_PORT\` (9464) in Prometheus's text format. Every series has the label \`service\`.
No label has values that grow with customers, events or receivers: logs name endpoints and organizations, metrics never do.

- The publisher's gauges (\`herald_deliveries_unfinished\`, \`herald_oldest_due_delivery_age_seconds\`, \`herald_endpoints\`, \`herald_shards\`, \`herald_queue_*\`, ...)
  are figures of the whole Herald. The publisher reads them from PostgreSQL and RabbitMQ at each scrape. Each publisher exports the same
  figures: take their \`max\`, never their \`sum\`. A figure that can't be read is absent. \`/metrics\` answers within two seconds, whatever a
  server does: in the place of a figure that is late it shows the one before, for a minute.
- Every other metric belongs to one process. Take its \`sum\`, and for a counter the \`rate\` first.
- Each service also exports prom-client's figures of the process: \`process_*\` and \`nodejs_*\` (CPU, memory, event loop, garbage
  collection).
- \`herald serve\` exports the metrics of all three services, each with the label of its service, and the figures of the process once, with \`service="serve"\`.

Alerts speak of one Herald, which is a \`namespace\`, a label that a scrape in Kubernetes adds, and a \`job\`: have all processes of a Herald in one job, and each Herald in another one.
The dashboard groups by \`namespace\`: if several Heralds outside Kubernetes share a Prometheus, add it in the scrape configuration.

\`pnpm run docs\` writes this table from the services' metrics.
`;
