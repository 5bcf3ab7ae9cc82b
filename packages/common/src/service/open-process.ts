import { randomUUID } from "node:crypto";
import type { HandOver } from "@herald/contracts";
import { Gauge, type Registry } from "prom-client";
import { type Broker, connectBroker, partOfBroker } from "../broker/broker.ts";
import type { Side } from "../broker/topology.ts";
import type { serviceSettings } from "../config/common-settings.ts";
import { ConfigError } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import { assertMigrated } from "../database/migrations.ts";
import { type Database, KEEP_STATEMENTS, openDatabase } from "../database/open-database.ts";
import { STALLED_MS } from "../database/statement-failures.ts";
import type { Clock } from "../runtime/clock.ts";
import { atMostEach, type Repetition, repeat } from "../runtime/repeat.ts";
import { POSTGRES } from "../security/connection-fault.ts";
import { nodeAuthorities } from "../security/node-authorities.ts";
import type { TlsFiles } from "../security/tls-files.ts";
import { createLog, type Log, linesLost } from "../telemetry/log.ts";
import { createRegistry, readGauge } from "../telemetry/metrics.ts";
import { type OperationsOptions, type ReadinessChecks, startOperationsServer } from "../telemetry/operations-server.ts";
import type { TelemetrySource, Tracing } from "../telemetry/tracing.ts";
import { memoryBytes } from "./memory.ts";
import { outagesInWords, quietWhileAway } from "./outages.ts";
import { assertCommits, FAR_OFF_SECONDS, type Facts, type Process, sayFacts, type Trouble } from "./processes.ts";

export type ServiceConfig = Config<typeof serviceSettings>;

/**
 * The dispatchers of a process, by the ids of their rows: what takes a hand-over. In `herald serve` a publisher hands over by a call, and
 * otherwise by messages.
 */
export type LocalOwners = Map<string, (handOver: HandOver) => void>;

/** The resources of every service: database, broker, telemetry. */
export interface OpenService {
  id: string;
  /** The number of running processes of this service, this one included. It is read every ten seconds; 1 while PostgreSQL is unreachable. */
  processes(): number;
  /** The other services at work, of this process and of others, as their rows say; none while PostgreSQL is unreachable. */
  others(): readonly Process[];
  log: Log;
  /** The metrics that /metrics of the operations port shows. */
  registry: Registry;
  database: Database;
  broker: Broker;
  localOwners: LocalOwners;
  clock: Clock;
  /** Resolves when the time is known, which is when PostgreSQL has answered for the first time: at the start, if it is there. */
  timeKnown: Promise<void>;
  tracing: Tracing | undefined;
  operationsPort: number;
  /** Closes all of it, and the process if the service is alone in it. The service's own work must have ended before. */
  close(): Promise<void>;
}

interface OpenOptions extends Pick<OperationsOptions, "conditions" | "worksWithout"> {
  clock?: Clock | undefined;
  facts: Facts;
  tlsFiles?: TlsFiles | undefined;
}

/** A process with one service or several: one pool of connections to PostgreSQL, one way to the broker, one operations port. */
export type OpenProcess = Awaited<ReturnType<typeof openProcess>>;

/** The arguments of a service's start beside its environment; PostgreSQL's time and a process of its own if absent. */
export interface StartOptions<Tuning = object> {
  /** A clock instead of PostgreSQL's, for tests that set the time. */
  clock?: Clock | undefined;
  inProcess?: OpenProcess;
  /** For tests that can't wait for Herald's own intervals, or want small batches. */
  tuning?: Partial<Tuning> | undefined;
}

/** Soon enough that a process follows when another server becomes the primary, or when its machine has slept. */
const TIME_INTERVAL_MS = 1_000;

/** How often a process commits to show that it is ready, at most. */
const COMMIT_INTERVAL_MS = 1_000;

/**
 * Opens what the services of a process need: connections, telemetry and the operations port. Neither PostgreSQL nor RabbitMQ need be there
 * yet: until they are, /readyz says so. Logs, metrics and the servers' lists of connections call a process by its service, and one with several
 * "serve"; of these, each has a log, traces and metrics under its own name, and /readyz shows each, which is false until it has started.
 * @throws ConfigError if a file of certificate authorities, the operations port or the database's tables can't be used
 */
export async function openProcess(services: readonly Side[], config: ServiceConfig) {
  const [first] = services;
  const alone = services.length === 1 ? first : undefined;
  const name = alone ?? "serve";
  let isAway = false;
  const createOwnLog = (service: string) =>
    quietWhileAway(createLog({ service, level: config.LOG_LEVEL }), { isAway: () => isAway, ping });
  const log = createOwnLog(name);
  if (nodeAuthorities) nodeAuthorities.log = log;
  const database = openDatabase(config.DATABASE_URL, {
    caFile: config.DATABASE_CA_FILE,
    log,
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeoutMs: config.DATABASE_TIMEOUT_SECONDS * 1_000,
    applicationName: `herald-${name}`,
    onConnectionLost: (error) => log.warn("a database connection broke", { error }),
    // Statements fail at random from now on, and no later try helps.
    onStatementLost() {
      const lost = "DATABASE_URL leads to a pooler of transactions, which loses prepared statements.";
      endProcess(new ConfigError([`${lost} ${KEEP_STATEMENTS}`]));
    },
  });
  const broker = connectBroker({
    url: config.AMQP_URL,
    caFile: config.AMQP_CA_FILE,
    namespace: config.BROKER_NAMESPACE,
    ...(alone && { side: alone }),
    name: `herald-${name}`,
    log,
    onRefused: endProcess,
  });
  const outages = outagesInWords(log, POSTGRES, { url: config.DATABASE_URL, end: endProcess });
  let areTablesKnown = false;
  /** The connection for pings may be open while PostgreSQL refuses all others. */
  async function ping(): Promise<void> {
    await database.ping();
    const refusal = database.refusal();
    if (refusal) throw refusal;
  }
  async function ask(): Promise<void> {
    try {
      await ping();
      isAway = false;
    } catch (error) {
      isAway = true;
      outages.down(`herald-${name}`, error as Error);
      return;
    }
    outages.up(`herald-${name}`);
    if (!areTablesKnown) await assertMigrated(database.queries);
    areTablesKnown = true;
  }
  const ids: string[] = [];
  const commit = atMostEach(COMMIT_INTERVAL_MS, () => assertCommits(database.probes, ids));
  /** A full disk takes a commit that needs no room. The management API goes on reading then. */
  async function takesWrites(): Promise<boolean> {
    await (ids.length > 0 ? commit() : database.ping());
    return alone === "management-api" || database.failures.seconds() < STALLED_MS / 1_000;
  }
  // Its failure is awaited below.
  const asked = ask();
  asked.catch(() => {});

  const ofProcess = createRegistry(name);
  const registries = new Map(
    services.map((service) => [service, alone ? ofProcess : createRegistry(service, { ofProcess: false })]),
  );
  for (const registry of registries.values()) exportConnections(registry, { broker, database });
  exportMemoryLimit(ofProcess).set(memoryBytes(config));
  const localOwners: LocalOwners = new Map();
  const started = new Set<string>();
  const conditions: ReadinessChecks = alone
    ? { [alone]: () => false }
    : Object.fromEntries(services.map((service) => [service, () => started.has(service)]));
  const worksWithout: string[] = [];
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.OPERATIONS_PORT,
    registries: [...new Set([ofProcess, ...registries.values()])],
    checks: { database: takesWrites, broker: () => broker.isReady() },
    conditions,
    worksWithout,
  });
  let asking: Repetition | undefined;

  /** Closes what services share, the operations port last. The services must have been closed before. */
  async function close(): Promise<void> {
    await broker.close();
    await asking?.stop();
    await database.close();
    await operations.close();
  }

  await asked.catch(async (error) => {
    if (!(error instanceof ConfigError)) return;
    await close();
    throw error;
  });
  asking = repeat(ask, {
    intervalMs: TIME_INTERVAL_MS,
    onFailure: (error) => error instanceof ConfigError && endProcess(error),
  });

  return {
    log,
    operationsPort: operations.port,
    async open(
      service: Side,
      ownConfig: ServiceConfig,
      { clock, facts, tlsFiles, ...readiness }: OpenOptions,
    ): Promise<OpenService> {
      const registry = registries.get(service);
      if (registry === undefined) throw new Error(`${service} is none of this process's services.`);
      if (alone) {
        delete conditions[alone];
        // A process with several services needs both servers.
        worksWithout.push(...(readiness.worksWithout ?? []));
      }
      Object.assign(conditions, readiness.conditions);
      const id = randomUUID();
      const ownLog = alone ? log : createOwnLog(service);
      const ownBroker = partOfBroker(broker);
      const tracing = await startTracing({ service, id, config: ownConfig, log: ownLog });
      if (tlsFiles) tlsFiles.log = ownLog;
      const held = [database.tlsFiles, broker.tlsFiles, nodeAuthorities, tlsFiles];
      async function trouble(): Promise<Trouble> {
        const parts = await operations.notReady();
        // The row is there in a moment: from now on it shows whether a commit works.
        if (!ids.includes(id)) ids.push(id);
        const aheadSeconds = database.clock.isKnown() ? Math.round(database.clock.machineAheadMs() / 1_000) : 0;
        return {
          ...(parts.length > 0 && { notReady: parts.join(", ") }),
          ...(Math.abs(aheadSeconds) >= FAR_OFF_SECONDS && { clockAheadSeconds: aheadSeconds }),
          ...(linesLost() > 0 && { linesLost: linesLost() }),
        };
      }
      const saying = sayFacts(
        { queries: database.queries, log: ownLog, registry },
        {
          ...{ id, service },
          facts: async () => Object.assign({}, facts, ...held.map((files) => files?.held()), await trouble()) as Facts,
        },
      );
      return {
        ...{ id, processes: saying.processes, others: saying.others, log: ownLog, registry, database },
        ...{ broker: ownBroker, localOwners, tracing, operationsPort: operations.port },
        // A test's own clock is known from the start.
        ...(clock
          ? { clock, timeKnown: Promise.resolve() }
          : { clock: database.clock, timeKnown: database.clock.known }),
        async close() {
          await saying.stop();
          await tracing?.stop();
          await ownBroker.close();
          if (alone) await close();
        },
      };
    },
    /** If there are several services, the process is ready when all have started. */
    markStarted: (service: string) => void started.add(service),
    close,
  };
}

/** OpenTelemetry is loaded only if a collector is configured: otherwise it costs nothing. */
async function startTracing(source: TelemetrySource): Promise<Tracing | undefined> {
  if (!source.config.OTEL_EXPORTER_OTLP_ENDPOINT) return undefined;
  const { openTelemetryTracing } = await import("../telemetry/open-telemetry.ts");
  return openTelemetryTracing(source);
}

/** Shows in the metrics whether RabbitMQ takes messages, and how wrong the machine's clock is. */
export function exportConnections(
  registry: Registry,
  { broker, database }: { broker: Broker; database: Database },
): void {
  readGauge(
    registry,
    "herald_broker_blocked",
    "1 while RabbitMQ takes no messages, since its memory or disk alarm is set: emitters wait.",
    () => Number(broker.isBlocked()),
  );
  readGauge(
    registry,
    "herald_database_failing_seconds",
    "Seconds for which PostgreSQL has not carried out a statement that the process repeats: no room, no right, read-only, a commit that does not end, or a lock that another session holds. 0 if it carries out all.",
    () => database.failures.seconds(),
  );
  readGauge(
    registry,
    "herald_clock_difference_seconds",
    "Seconds by which the machine's clock is ahead of PostgreSQL's, which Herald uses; negative if it is behind.",
    // Absent until PostgreSQL has said its time.
    () => (database.clock.isKnown() ? database.clock.machineAheadMs() / 1_000 : undefined),
  );
}

export function exportMemoryLimit(registry: Registry): Gauge {
  return new Gauge({
    name: "herald_memory_limit_bytes",
    help: "The memory that the process may take: MEMORY_MIB, or what it has without.",
    registers: [registry],
  });
}

/** Ends the process, and shows an operator what to change: the rejection is not handled, so that it ends the process whatever part of it runs. */
function endProcess(error: ConfigError): void {
  void Promise.reject(error);
}
