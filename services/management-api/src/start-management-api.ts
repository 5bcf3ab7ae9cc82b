import type { Environment } from "@herald/common/config/read-config";
import { within } from "@herald/common/runtime/repeat";
import { memoryBounds } from "@herald/common/service/memory";
import { openProcess, type StartOptions } from "@herald/common/service/open-process";
import { factsOf } from "@herald/common/service/processes";
import type { Service } from "@herald/common/service/run-service";
import { createApp } from "./app.ts";
import { type ManagementApiTuning, managementApiSettings, manualTimeoutMs, readManagementApiConfig } from "./config.ts";
import { ownerTeller } from "./endpoints/tell-owner.ts";
import { startServer } from "./http/server.ts";

/** How long a stop waits for the requests under way, and then for those that waited for an attempt: 20 s in all. */
const ANSWER_TIMEOUT_MS = 15_000;
const LAST_ANSWERS_MS = 2_000;

/** Starts the management API: HTTP in front, PostgreSQL behind it, and the broker to tell dispatchers. */
export async function startManagementApi(
  environment: Environment = process.env,
  { clock: steered, inProcess, tuning }: StartOptions<ManagementApiTuning> = {},
): Promise<Service & { port: number }> {
  const config = readManagementApiConfig(environment);
  const { clients } = memoryBounds(config);
  const facts = factsOf(managementApiSettings, config);
  let isListening = false;
  const { open } = inProcess ?? (await openProcess(["management-api"], config));
  const service = await open("management-api", config, {
    clock: steered,
    facts,
    // Requests that are sent here before would be refused.
    conditions: { http: () => isListening },
    // Without the broker only manual deliveries wait, and say so.
    worksWithout: ["broker"],
  });
  const { broker, clock, log, registry, tracing } = service;
  const { queries } = service.database;
  const stopping = new AbortController();
  const timeoutMs = tuning?.manualTimeoutMs ?? manualTimeoutMs(config);
  const app = createApp({
    config,
    database: service.database,
    tellOwner: ownerTeller({ broker, queries, log }),
    manualWait: { timeoutMs, signal: stopping.signal },
    processes: service.processes,
    clock,
    log,
    registry,
    tracing,
  });
  const server = await startServer(app, { host: config.HTTP_HOST, port: config.PORT, maxConnections: clients });
  isListening = true;
  log.info("listening", { port: server.port, operationsPort: service.operationsPort, basePath: config.BASE_PATH });

  return {
    log,
    ready: broker.ready,
    port: server.port,
    async stop() {
      const answered = server.close();
      await within(ANSWER_TIMEOUT_MS, answered);
      // A request that still waits for a manual delivery's first attempt is answered without it.
      stopping.abort();
      await within(LAST_ANSWERS_MS, answered);
      server.end();
      await service.close();
    },
  };
}
