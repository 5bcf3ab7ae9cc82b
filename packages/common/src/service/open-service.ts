import type { Registry } from "prom-client";
import { type Broker, connectBroker } from "../broker/broker.ts";
import { readCell } from "../broker/cell.ts";
import type { serviceSettings, tracingSettings } from "../config/common-settings.ts";
import type { Config } from "../config/settings.ts";
import { type Database, openDatabase } from "../database/open-database.ts";
import type { Clock } from "../runtime/clock.ts";
import { readCaFile } from "../security/server-certificate.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { createRegistry } from "../telemetry/metrics.ts";
import { type OperationsOptions, type ReadinessChecks, startOperationsServer } from "../telemetry/operations-server.ts";
import { startTracing } from "../telemetry/start-tracing.ts";
import type { Tracing } from "../telemetry/tracing.ts";

/** What every service needs: database, broker, telemetry. */
export interface OpenService {
  log: Log;
  /** What /metrics of the operations port shows. */
  registry: Registry;
  database: Database;
  broker: Broker;
  /** Undefined where no collector is configured. */
  tracing: Tracing | undefined;
  /** Where /healthz, /readyz and /metrics are. */
  operationsPort: number;
  /** Closes all of it, the operations port last. The service's own work must have ended before. */
  close(): Promise<void>;
}

export type ServiceConfig = Config<typeof serviceSettings> & Partial<Config<typeof tracingSettings>>;

/** How a service gets what it needs: {@link openService} in a process of its own, `openShared` in one with others. */
export type ServiceOpener = (
  name: string,
  config: ServiceConfig,
  readiness?: Pick<OperationsOptions, "conditions" | "worksWithout">,
) => Promise<OpenService>;

/** What the start of a service takes besides its environment; the system's clock and a process of its own where absent. */
export interface StartOptions {
  clock?: Clock;
  open?: ServiceOpener;
}

/**
 * Opens a service's database, broker, telemetry and operations port. Neither PostgreSQL nor RabbitMQ need be there yet: until
 * they are, /readyz says so.
 *
 * @param name "publisher"; what logs, metrics and the connections' lists call it
 * @throws ConfigError where a file of certificate authorities can't be used
 */
export const openService: ServiceOpener = async (name, config, readiness = {}) => {
  const log = createLog({ service: name, level: config.LOG_LEVEL });
  const connections = openConnections(name, config, log);
  const { database, broker } = connections;
  const registry = createRegistry(name);
  const tracing = await openTracing(name, config, log);
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.OPERATIONS_PORT,
    registries: [registry],
    checks: checksOf(connections),
    ...readiness,
  });
  return {
    log,
    registry,
    database,
    broker,
    tracing,
    operationsPort: operations.port,
    async close() {
      await broker.close();
      await database.close();
      await tracing?.stop();
      await operations.close();
    },
  };
};

export type Connections = Pick<OpenService, "database" | "broker">;

/**
 * A process's connections to PostgreSQL and RabbitMQ, there or not.
 *
 * @param name of the process; both servers list its connections by it
 * @throws ConfigError where a file of certificate authorities can't be used, or the buckets can't be read
 */
export function openConnections(name: string, config: ServiceConfig, log: Log): Connections {
  const cell = readCell(config);
  const databaseCa = readCaFile("DATABASE_CA_FILE", config.DATABASE_CA_FILE);
  const brokerCa = readCaFile("AMQP_CA_FILE", config.AMQP_CA_FILE);
  const database = openDatabase(config.DATABASE_URL, {
    ca: databaseCa,
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeoutMs: config.DATABASE_TIMEOUT_SECONDS * 1_000,
    applicationName: `herald-${name}`,
    onConnectionLost: (error) => log.warn("a database connection broke", { error }),
  });
  const broker = connectBroker({
    url: config.AMQP_URL,
    ca: brokerCa,
    namespace: config.BROKER_NAMESPACE,
    cell,
    name: `herald-${name}`,
    log,
  });
  // Said at the start, since a service with nothing to do would not say why it is not ready.
  database.ping().catch((error) => log.warn("PostgreSQL can't be used yet", { error }));
  return { database, broker };
}

/** What /readyz asks of the connections. */
export function checksOf({ database, broker }: Connections): ReadinessChecks {
  return { database: () => database.ping().then(() => true), broker: () => broker.isReady() };
}

/** A service's spans bear its own name, also where it shares its process. */
export function openTracing(name: string, config: ServiceConfig, log: Log): Promise<Tracing | undefined> {
  return startTracing({
    service: name,
    endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS,
    sampledShare: config.OTEL_TRACES_SAMPLER_ARG ?? 1,
    log,
  });
}
