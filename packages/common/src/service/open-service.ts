import type { Registry } from "prom-client";
import { type Broker, connectBroker } from "../broker/broker.ts";
import type { serviceSettings, tracingSettings } from "../config/common-settings.ts";
import type { Config } from "../config/settings.ts";
import { type Database, openDatabase } from "../database/open-database.ts";
import { readCaFile } from "../security/server-certificate.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { createRegistry } from "../telemetry/metrics.ts";
import { type OperationsOptions, startOperationsServer } from "../telemetry/operations-server.ts";
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

/**
 * Opens a service's database, broker, telemetry and operations port. Neither PostgreSQL nor RabbitMQ need be there yet: until
 * they are, /readyz says so.
 *
 * @param name "publisher"; what logs, metrics and the connections' lists call it
 * @throws ConfigError where a file of certificate authorities can't be used
 */
export async function openService(
  name: string,
  config: Config<typeof serviceSettings> & Partial<Config<typeof tracingSettings>>,
  readiness: Pick<OperationsOptions, "conditions" | "worksWithout"> = {},
): Promise<OpenService> {
  const databaseCa = readCaFile("DATABASE_CA_FILE", config.DATABASE_CA_FILE);
  const brokerCa = readCaFile("AMQP_CA_FILE", config.AMQP_CA_FILE);
  const log = createLog({ service: name, level: config.LOG_LEVEL });
  const registry = createRegistry(name);
  const tracing = await startTracing({
    service: name,
    endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS,
    sampledShare: config.OTEL_TRACES_SAMPLER_ARG ?? 1,
    log,
  });
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
    name: `herald-${name}`,
    log,
  });
  // Said at the start, since a service with nothing to do would not say why it is not ready.
  database.ping().catch((error) => log.warn("PostgreSQL can't be used yet", { error }));
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.OPERATIONS_PORT,
    registry,
    checks: { database: () => database.ping().then(() => true), broker: () => broker.isReady() },
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
}
