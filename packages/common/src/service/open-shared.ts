import { partOfBroker } from "../broker/broker.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { createRegistry } from "../telemetry/metrics.ts";
import { type ReadinessChecks, startOperationsServer } from "../telemetry/operations-server.ts";
import { createLocalOwners } from "./local-owners.ts";
import {
  checksOf,
  exportConnections,
  openConnections,
  openOn,
  type ServiceConfig,
  type ServiceOpener,
} from "./open-service.ts";

/** A process that several services share: one pool of connections to PostgreSQL, one way to the broker, one operations port. */
export interface SharedProcess {
  log: Log;
  operationsPort: number;
  /** Opens one of the services. What the services share stays open when it closes. */
  open: ServiceOpener;
  /** Says that a service has started: the process is ready when all have. */
  markStarted(service: string): void;
  /** Closes what is shared, the operations port last. The services must have been closed before. */
  close(): Promise<void>;
}

/**
 * Opens what the services of one process share. Each keeps a log, traces and metrics under its own name; what the process itself
 * writes and exports bears the name of the process. /readyz shows each service, which is false until it has started, and its
 * conditions.
 *
 * @param name "serve"; what logs, metrics and the connections' lists call the process
 * @param services the names of those that will be opened
 * @throws ConfigError where a file of certificate authorities can't be used
 */
export async function openShared(
  name: string,
  config: ServiceConfig,
  services: readonly string[],
): Promise<SharedProcess> {
  const log = createLog({ service: name, level: config.LOG_LEVEL });
  const connections = openConnections(name, config, log);
  const { database, broker } = connections;
  const registries = new Map(services.map((service) => [service, createRegistry(service, { ofProcess: false })]));
  for (const registry of registries.values()) exportConnections(registry, connections);
  const localOwners = createLocalOwners();
  const started = new Set<string>();
  const conditions: ReadinessChecks = Object.fromEntries(
    services.map((service) => [service, () => started.has(service)]),
  );
  const ofProcess = createRegistry(name);
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.OPERATIONS_PORT,
    registries: [ofProcess, ...registries.values()],
    checks: checksOf(connections),
    // A service may work without one of the parts. The process as a whole needs both.
    conditions,
  });
  await connections.asked;

  return {
    log,
    operationsPort: operations.port,
    async open(service, serviceConfig, { clock, facts, ...readiness }) {
      const registry = registries.get(service);
      if (registry === undefined) throw new Error(`${service} is none of this process's services.`);
      Object.assign(conditions, readiness.conditions);
      const ownBroker = partOfBroker(broker);
      const own = { log: createLog({ service, level: config.LOG_LEVEL }), registry, database, broker: ownBroker };
      const parts = { ...own, localOwners, operationsPort: operations.port };
      const opened = await openOn(parts, service, serviceConfig, { clock, facts });
      return {
        ...opened,
        async close() {
          await opened.close();
          await ownBroker.close();
        },
      };
    },
    markStarted: (service) => void started.add(service),
    async close() {
      await connections.close();
      await operations.close();
    },
  };
}
