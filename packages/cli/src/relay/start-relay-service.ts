import type { Config } from "@herald/common/config/settings";
import { atMostEach } from "@herald/common/runtime/repeat";
import { brokerAuthorities } from "@herald/common/security/tls-files";
import type { Service } from "@herald/common/service/run-service";
import { createLog } from "@herald/common/telemetry/log";
import { createRegistry, metricsIn, type Registry, readGauge, reading } from "@herald/common/telemetry/metrics";
import { startOperationsServer } from "@herald/common/telemetry/operations-server";
import { createEmitter } from "@herald/emitter";
import { COUNTED_AT_MOST, type OutboxLag, RowsSetAsideError, readOutboxLag, startRelay } from "@herald/emitter/outbox";
import { openOutboxPool } from "./outbox-database.ts";
import type { relaySettings } from "./relay-settings.ts";

/** Scrapes within this time share a reading. */
const READING_LIFE_MS = 1_000;

/** Metrics of a relay's work, and of its outbox, which is read at each scrape. A figure that can't be read is not exported. */
export function relayMetrics(registry: Registry, readLag: () => Promise<OutboxLag>) {
  const { counter } = metricsIn(registry);
  const latest = reading(READING_LIFE_MS, readLag);
  const figure = (name: string, help: string, figureOf: (lag: OutboxLag) => number) =>
    readGauge(registry, name, help, async () => {
      const lag = await latest();
      return lag && figureOf(lag);
    });
  figure(
    "herald_outbox_waiting",
    `Events that wait in the outbox; counted to ${COUNTED_AT_MOST}. Each relay exports the same.`,
    ({ waiting }) => waiting,
  );
  figure(
    "herald_outbox_oldest_age_seconds",
    "Age of the oldest waiting event in the outbox; 0 if none waits. Each relay exports the same.",
    ({ oldestSeconds }) => oldestSeconds ?? 0,
  );
  figure(
    "herald_outbox_refused",
    `Rows of the outbox that can't be sent, with the reason in their column refused; counted to ${COUNTED_AT_MOST}. Each relay exports the same.`,
    ({ refused }) => refused,
  );
  return {
    sent: counter("herald_relay_sent_total", "Events of the outbox that the relay has sent, and the broker confirmed."),
    refused: counter(
      "herald_relay_refused_total",
      "Rows of the outbox that the relay has set aside, since they can't be sent.",
    ),
    failures: counter(
      "herald_relay_failures_total",
      "Failures of the outbox's database or of the broker; the relay tries again each time.",
    ),
  };
}

const PING_MS = 1_000;

/** Starts a relay with its log, metrics and operations port. Neither the database nor RabbitMQ need be there yet. */
export async function startRelayService(config: Config<typeof relaySettings>): Promise<Omit<Service, "ready">> {
  const log = createLog({ service: "relay", level: config.LOG_LEVEL });
  const authorities = brokerAuthorities(config.AMQP_URL, config.AMQP_CA_FILE, log);
  const registry = createRegistry("relay");
  const onConnectionLost = (error: Error) => log.warn("a database connection broke", { error });
  const pool = openOutboxPool(config.OUTBOX_DATABASE_URL, onConnectionLost, log);
  const table = config.OUTBOX_TABLE;
  const metrics = relayMetrics(registry, () => readOutboxLag({ pool, table }));
  const emitter = createEmitter({
    url: config.AMQP_URL,
    ...(authorities && { ca: () => authorities.current().ca ?? "" }),
    namespace: config.BROKER_NAMESPACE,
    connectionName: "herald-relay",
    onFailure: (error) => {
      authorities?.failed(error);
      log.warn("the broker can't be used; it is tried again", { error });
    },
  });
  const relay = startRelay({
    pool,
    emitter,
    table,
    keepDays: config.OUTBOX_KEEP_DAYS,
    onBatch: ({ sent, refused }) => {
      metrics.sent.inc(sent);
      metrics.refused.inc(refused);
    },
    onFailure: (error) => {
      if (error instanceof RowsSetAsideError) return log.warn("rows of the outbox were set aside", { table, error });
      metrics.failures.inc();
      log.warn("events of the outbox could not be sent; they are tried again", { error });
    },
  });
  const ping = atMostEach(PING_MS, () => pool.query("select 1"));
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.OPERATIONS_PORT,
    registries: [registry],
    checks: { database: () => ping().then(() => true), broker: emitter.isReady },
  });
  return {
    log,
    async stop() {
      await relay.close();
      await emitter.close();
      await pool.end();
      await operations.close();
    },
  };
}
