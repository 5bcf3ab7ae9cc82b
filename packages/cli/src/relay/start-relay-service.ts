import { assertTls } from "@herald/common/broker/tls";
import type { Config } from "@herald/common/config/settings";
import { atMostEach } from "@herald/common/runtime/repeat";
import { readCaFile } from "@herald/common/security/server-certificate";
import type { Service } from "@herald/common/service/run-service";
import { createLog } from "@herald/common/telemetry/log";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { startOperationsServer } from "@herald/common/telemetry/operations-server";
import { createEmitter } from "@herald/emitter";
import { readOutboxLag, startRelay } from "@herald/emitter/outbox";
import { openOutboxDatabase } from "./outbox-database.ts";
import { relayMetrics } from "./relay-metrics.ts";
import type { relaySettings } from "./relay-settings.ts";

const PING_MS = 1_000;

/** Starts a relay with its log, metrics and operations port. Neither the database nor RabbitMQ need be there yet. */
export async function startRelayService(config: Config<typeof relaySettings>): Promise<Omit<Service, "ready">> {
  const ca = readCaFile("AMQP_CA_FILE", config.AMQP_CA_FILE);
  assertTls(config.AMQP_URL, ca);
  const log = createLog({ service: "relay", level: config.LOG_LEVEL });
  const registry = createRegistry("relay");
  const database = openOutboxDatabase({
    url: config.OUTBOX_DATABASE_URL,
    onConnectionLost: (error) => log.warn("a database connection broke", { error }),
  });
  const { pool } = database;
  const table = config.OUTBOX_TABLE;
  const metrics = relayMetrics(registry, () => readOutboxLag({ pool, table }));
  const emitter = createEmitter({
    url: config.AMQP_URL,
    ...(ca !== undefined && { ca }),
    namespace: config.BROKER_NAMESPACE,
    connectionName: "herald-relay",
    onFailure: (error) => log.warn("the broker can't be used; it is tried again", { error }),
  });
  const relay = startRelay({
    pool,
    emitter,
    table,
    keepDays: config.OUTBOX_KEEP_DAYS,
    onBatch: ({ sent, refused }) => {
      metrics.sent.inc(sent);
      metrics.refused.inc(refused);
      if (refused > 0) log.warn("rows of the outbox can't be sent and were set aside", { table, rows: refused });
    },
    onFailure: (error) => {
      metrics.failures.inc();
      log.warn("events of the outbox could not be sent; they are tried again", { error });
    },
  });
  const ping = atMostEach(PING_MS, () => database.ping());
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
      await database.close();
      await operations.close();
    },
  };
}
