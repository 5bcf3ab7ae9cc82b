import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";

export interface OperationsServer {
  port: number;
  close(): Promise<void>;
}

/** A part that the service can't work without, by name; true when it can be used right now. */
export type ReadinessChecks = Record<string, () => boolean | Promise<boolean>>;

/**
 * Serves what operators and orchestrators ask of a process, on a port of its own:
 * `/healthz` (it runs), `/readyz` (each part it needs can be used; 503 naming those that can't), `/metrics` (Prometheus).
 */
export async function startOperationsServer(options: {
  host: string;
  port: number;
  registry: Registry;
  checks: ReadinessChecks;
}): Promise<OperationsServer> {
  const server = createServer(async (request, response) => {
    const path = request.url?.split("?")[0];
    try {
      if (path === "/healthz") {
        respond(200, { status: "ok" });
      } else if (path === "/readyz") {
        const parts = await checkAll(options.checks);
        respond(Object.values(parts).every(Boolean) ? 200 : 503, parts);
      } else if (path === "/metrics") {
        const text = await options.registry.metrics();
        response.writeHead(200, { "content-type": options.registry.contentType }).end(text);
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
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function checkAll(checks: ReadinessChecks): Promise<Record<string, boolean>> {
  const entries = Object.entries(checks).map(async ([name, check]) => {
    try {
      return [name, await check()] as const;
    } catch {
      return [name, false] as const;
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}
