import { randomUUID } from "node:crypto";
import { Gauge, type Registry } from "prom-client";
import { type Broker, connectBroker } from "../broker/broker.ts";
import type { Side } from "../broker/topology.ts";
import type { serviceSettings } from "../config/common-settings.ts";
import { ConfigError } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import { type Database, KEEP_STATEMENTS, openDatabase } from "../database/open-database.ts";
import type { Clock } from "../runtime/clock.ts";
import { repeat } from "../runtime/repeat.ts";
import { readCaFile } from "../security/server-certificate.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { createRegistry } from "../telemetry/metrics.ts";
import { type OperationsOptions, type ReadinessChecks, startOperationsServer } from "../telemetry/operations-server.ts";
import { startTracing } from "../telemetry/start-telemetry.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import { createLocalOwners, type LocalOwners } from "./local-owners.ts";
import { type Facts, sayFacts } from "./processes.ts";

/** What every service needs: database, broker, telemetry. */
export interface OpenService {
  /** The id of its row in the table of processes. */
  id: string;
  /** How many processes of this service are at work, this one included: of some seconds ago, and 1 while PostgreSQL does not say. */
  processes(): number;
  log: Log;
  /** What /metrics of the operations port shows. */
  registry: Registry;
  database: Database;
  broker: Broker;
  localOwners: LocalOwners;
  /** PostgreSQL's time, or the one that a test steers. */
  clock: Clock;
  /** Resolves when the time is known, which is when PostgreSQL has answered for the first time: at the start, if it is there. */
  timeKnown: Promise<void>;
  /** Undefined where no collector is configured. */
  tracing: Tracing | undefined;
  /** Where /healthz, /readyz and /metrics are. */
  operationsPort: number;
  /** Closes all of it, the operations port last. The service's own work must have ended before. */
  close(): Promise<void>;
}

export type ServiceConfig = Config<typeof serviceSettings>;

/** How a service gets what it needs: {@link openService} in a process of its own, `openShared` in one with others. */
export type ServiceOpener = (
  name: Side,
  config: ServiceConfig,
  options: Pick<OperationsOptions, "conditions" | "worksWithout"> & {
    clock?: Clock | undefined;
    /** The settings that must be the same for all processes. */
    facts: Facts;
  },
) => Promise<OpenService>;

/** What the start of a service takes besides its environment; PostgreSQL's time and a process of its own where absent. */
export interface StartOptions<Tuning = object> {
  /** In place of PostgreSQL's time, for tests that steer it. */
  clock?: Clock | undefined;
  open?: ServiceOpener;
  /** For tests that can't wait for Herald's own intervals, or want small batches. */
  tuning?: Partial<Tuning> | undefined;
}

/**
 * Opens a service's database, broker, telemetry and operations port. Neither PostgreSQL nor RabbitMQ need be there yet: until
 * they are, /readyz says so.
 *
 * @param name "publisher"; what logs, metrics and the connections' lists call it
 * @throws ConfigError where a file of certificate authorities can't be used
 */
export const openService: ServiceOpener = async (name, config, { clock, facts, ...readiness }) => {
  const log = createLog({ service: name, level: config.LOG_LEVEL });
  const connections = openConnections(name, config, log, name);
  const registry = createRegistry(name);
  exportConnections(registry, connections);
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.OPERATIONS_PORT,
    registries: [registry],
    checks: checksOf(connections),
    ...readiness,
  });
  await connections.asked;
  const localOwners = createLocalOwners();
  const own = { log, registry, ...connections, localOwners, operationsPort: operations.port };
  const service = await openOn(own, name, config, { clock, facts });
  return {
    ...service,
    async close() {
      await service.close();
      await connections.close();
      await operations.close();
    },
  };
};

/** What a service has of its process, and its own log and metrics. */
type OpenParts = Pick<OpenService, "log" | "registry" | "database" | "broker" | "localOwners" | "operationsPort">;

/**
 * Opens a service on what is open already. It says its facts, and its spans and metrics bear its own name, also where it shares its process.
 * Its close leaves the parts open.
 */
export async function openOn(
  { log, registry, database, broker, localOwners, operationsPort }: OpenParts,
  name: Side,
  config: ServiceConfig,
  { clock, facts }: Pick<Parameters<ServiceOpener>[2], "clock" | "facts">,
): Promise<OpenService> {
  const id = randomUUID();
  const source = { service: name, id, config, log };
  const tracing = await startTracing(source);
  const saying = sayFacts({ queries: database.queries, log, registry }, { id, service: name, facts });
  return {
    ...{ id, processes: saying.processes, log, registry, database, broker, localOwners, tracing, operationsPort },
    // A test's own clock is known from the start.
    ...(clock ? { clock, timeKnown: Promise.resolve() } : { clock: database.clock, timeKnown: database.clock.known }),
    async close() {
      await saying.stop();
      await tracing?.stop();
    },
  };
}

export interface Connections extends Pick<OpenService, "database" | "broker"> {
  /** Resolves when PostgreSQL has answered for the first time, or could not be asked. */
  asked: Promise<void>;
  close(): Promise<void>;
}

/**
 * PostgreSQL is asked for its time so often: soon enough that a process follows when another server becomes the primary, or when its
 * machine has slept.
 */
const TIME_INTERVAL_MS = 1_000;

/**
 * A process's connections to PostgreSQL and RabbitMQ, there or not.
 *
 * @param name of the process; both servers list its connections by it
 * @param side the service whose connections they are; absent where all three share them
 * @throws ConfigError where a file of certificate authorities can't be used
 */
export function openConnections(name: string, config: ServiceConfig, log: Log, side?: Side): Connections {
  const databaseCa = readCaFile("DATABASE_CA_FILE", config.DATABASE_CA_FILE);
  const brokerCa = readCaFile("AMQP_CA_FILE", config.AMQP_CA_FILE);
  const database = openDatabase(config.DATABASE_URL, {
    ca: databaseCa,
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeoutMs: config.DATABASE_TIMEOUT_SECONDS * 1_000,
    applicationName: `herald-${name}`,
    onConnectionLost: (error) => log.warn("a database connection broke", { error }),
    onStatementLost: endForPooler,
  });
  const broker = connectBroker({
    url: config.AMQP_URL,
    ca: brokerCa,
    namespace: config.BROKER_NAMESPACE,
    ...(side && { side }),
    name: `herald-${name}`,
    log,
  });
  // Said at the start, since a service with nothing to do would not say why it is not ready.
  const asked = database.ping().catch((error) => log.warn("PostgreSQL can't be used yet", { error }));
  // Readiness says when it does not answer.
  const asking = repeat(database.ping, { intervalMs: TIME_INTERVAL_MS, onFailure: () => {} });
  return {
    database,
    broker,
    asked,
    async close() {
      await broker.close();
      await asking.stop();
      await database.close();
    },
  };
}

/** Shows in the metrics whether RabbitMQ takes messages, and how wrong the machine's clock is. */
export function exportConnections(
  registry: Registry,
  { broker, database }: { broker: Pick<Broker, "isBlocked">; database: Pick<Database, "clock"> },
): void {
  new Gauge({
    name: "herald_broker_blocked",
    help: "1 while RabbitMQ takes no messages, since its memory or disk alarm is set: emitters wait.",
    registers: [registry],
    collect() {
      this.set(Number(broker.isBlocked()));
    },
  });
  new Gauge({
    name: "herald_clock_difference_seconds",
    help: "Seconds by which the machine's clock is ahead of PostgreSQL's, which Herald uses; negative if it is behind.",
    registers: [registry],
    collect() {
      // Absent until PostgreSQL has said its time.
      const { clock } = database;
      if (clock.isKnown()) this.set(clock.machineAheadMs() / 1_000);
      else this.remove();
    },
  });
}

/** Statements fail at random from now on, and no later try helps: the process ends, and says what an operator has to change. */
function endForPooler(): void {
  // The rejection is not handled, so that it ends the process whatever part of it ran the statement.
  void Promise.reject(
    new ConfigError([
      `DATABASE_URL leads to a pooler of transactions, which loses prepared statements. ${KEEP_STATEMENTS}`,
    ]),
  );
}

/** What /readyz asks of the connections. */
export function checksOf({ database, broker }: Connections): ReadinessChecks {
  return { database: () => database.ping().then(() => true), broker: () => broker.isReady() };
}
