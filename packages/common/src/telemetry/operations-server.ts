import type { IncomingMessage, ServerResponse } from "node:http";
import { Gauge, Registry } from "prom-client";
import { createBoundedServer, listen } from "../runtime/bounded-server.ts";
import { within } from "../runtime/repeat.ts";
import { READING_MS } from "./metrics.ts";

/** Orchestrators, monitoring and a few people ask. */
const MAX_CONNECTIONS = 100;

/** Checks of the parts that a service works with, by name; true when a part can be used now. */
export type ReadinessChecks = Record<string, () => boolean | Promise<boolean>>;

export interface OperationsOptions {
  host: string;
  port: number;
  /** The metrics that /metrics shows: one registry, or the registries of the process and of the services in it. */
  registries: readonly Registry[];
  checks: ReadinessChecks;
  /** Further conditions of readiness. They are evaluated with each request, so some may be added later. */
  conditions?: ReadinessChecks;
  /** The parts without which most of the work goes on. They are shown, and do not decide readiness. */
  worksWithout?: readonly string[];
}

/**
 * Serves what operators and orchestrators ask of a process, on a port of its own:
 * `/healthz` (it runs), `/readyz` (which parts can be used; 503 if it needs one that can't), `/metrics` (Prometheus).
 */
export async function startOperationsServer(options: OperationsOptions) {
  for (const registry of options.registries) exportDependencies(registry, options.checks);
  const server = createBoundedServer(answer, { maxConnections: MAX_CONNECTIONS });

  const readiness = () => checkAll({ ...options.checks, ...options.conditions });
  const missingOf = (parts: Record<string, boolean>) =>
    Object.keys(parts).filter((name) => !parts[name] && !options.worksWithout?.includes(name));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split("?")[0];
    try {
      if (path === "/healthz") {
        respond(200, { status: "ok" });
      } else if (path === "/readyz") {
        const parts = await readiness();
        respond(missingOf(parts).length === 0 ? 200 : 503, parts);
      } else if (path === "/metrics") {
        const texts = await Promise.all(options.registries.map((registry) => registry.metrics()));
        response.writeHead(200, { "content-type": Registry.PROMETHEUS_CONTENT_TYPE }).end(joinMetrics(texts));
      } else {
        respond(404, { error: "Here are /healthz, /readyz and /metrics." });
      }
    } catch (error) {
      respond(500, { error: (error as Error).message });
    }

    function respond(status: number, body: object): void {
      if (response.headersSent) return;
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    }
  }
  const port = await listen(server, { ...options, setting: "OPERATIONS_PORT" });
  return {
    port,
    /** The parts for which /readyz says 503. */
    notReady: async () => missingOf(await readiness()),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function exportDependencies(registry: Registry, checks: ReadinessChecks): void {
  new Gauge({
    name: "herald_dependency_up",
    help: "1 if the process can use PostgreSQL, which includes a commit, or RabbitMQ right now, 0 if it can't.",
    labelNames: ["dependency"],
    registers: [registry],
    async collect() {
      const parts = await checkAll(checks, READING_MS);
      for (const [dependency, isUp] of Object.entries(parts)) this.set({ dependency }, Number(isUp));
    },
  });
}

/** The deadline of a check, longer than it takes on a healthy system. The orchestrator that asks has a deadline too. */
const CHECK_TIMEOUT_MS = 3_000;

async function checkAll(checks: ReadinessChecks, timeoutMs = CHECK_TIMEOUT_MS): Promise<Record<string, boolean>> {
  const entries = Object.entries(checks).map(async ([name, check]) => {
    const isUp = within(timeoutMs, (async () => check())(), false).catch(() => false);
    return [name, await isUp] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

const FAMILY = /^(?=# HELP )/m;

/**
 * Several registries' metrics as one text in Prometheus's format. A metric that more than one of them has stands once, with
 * the series of each: the format allows no metric twice. Its description is the first one's.
 */
export function joinMetrics(texts: readonly string[]): string {
  const families = new Map<string, string[]>();
  for (const family of texts.flatMap((text) => text.split(FAMILY))) {
    const [help = "", type = "", ...series] = family.trim().split("\n");
    const name = help.split(" ")[2];
    if (name === undefined) continue;
    const known = families.get(name);
    if (known) known.push(...series);
    else families.set(name, [help, type, ...series]);
  }
  return `${[...families.values()].map((lines) => lines.join("\n")).join("\n\n")}\n`;
}
