/** A metric as services export it. */
export interface ExportedMetric {
  name: string;
  type: string;
  help: string;
  labels: string[];
  services: string[];
}

/** Labels that every metric has, or every histogram. */
const OWN_LABELS = new Set(["service", "le"]);

/**
 * Herald's own metrics, by name, in what services answered to a scrape.
 *
 * @param scrapes Prometheus's text format, by service
 */
export function metricsIn(scrapes: Readonly<Record<string, string>>): ExportedMetric[] {
  const metrics = new Map<string, ExportedMetric>();
  for (const [service, text] of Object.entries(scrapes)) {
    for (const [, name = "", help = ""] of text.matchAll(/^# HELP (herald_\w+) (.*)$/gm)) {
      const type = new RegExp(`^# TYPE ${name} (\\w+)$`, "m").exec(text)?.[1] ?? "untyped";
      const known = metrics.get(name);
      if (known) known.services.push(service);
      else metrics.set(name, { name, type, help, labels: labelsOf(name, text), services: [service] });
    }
  }
  return [...metrics.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function labelsOf(name: string, text: string): string[] {
  const labels = new Set<string>();
  for (const [, inside = ""] of text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, "gm"))) {
    for (const [, label = ""] of inside.matchAll(/(\w+)="/g)) if (!OWN_LABELS.has(label)) labels.add(label);
  }
  return [...labels];
}

export function metricsDocument(metrics: readonly ExportedMetric[]): string {
  const rows = metrics.map(({ name, type, help, labels, services }) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${shown} | ${services.join(", ")} | ${help} |`;
  });
  return `${HEAD}
| metric | type | labels | exported by | what it is |
|---|---|---|---|---|
${rows.join("\n")}
`;
}

const HEAD = `# Metrics

Each service answers \`/metrics\` on \`OPERATIONS_PORT\` (9464) in Prometheus's text format. Every series has the label \`service\`. No label
takes values that grow with customers, events or receivers: endpoints and organizations are named in logs, never here.

- The publisher's gauges (\`herald_deliveries_unfinished\`, \`herald_oldest_due_delivery_age_seconds\`, \`herald_endpoints\`, \`herald_queue_*\`, ...)
  are figures of all of Herald, read from PostgreSQL and RabbitMQ when they are scraped. Each publisher exports the same: take their
  \`max\`, never their \`sum\`. One that can't be read is absent.
- Everything else is one process's: take its \`sum\`, and of counters the \`rate\` first.
- Besides these come prom-client's figures of the process: \`process_*\` and \`nodejs_*\` (CPU, memory, event loop, garbage collection).

This table is what running services exported; \`WRITE_DOCS=1 pnpm test packages/e2e/test/operations\` writes it anew.
`;
