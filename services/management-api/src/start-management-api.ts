import { setTimeout as sleep } from "node:timers/promises";
import { connectBroker } from "@herald/common/broker";
import type { Environment } from "@herald/common/config";
import { openDatabase } from "@herald/common/database";
import { type Clock, type Service, systemClock } from "@herald/common/runtime";
import { createLog, createRegistry, startOperationsServer } from "@herald/common/telemetry";
import { createApp } from "./app.ts";
import { readManagementApiConfig } from "./config.ts";
import { attemptRequester } from "./deliveries/request-attempt.ts";
import { startServer } from "./http/server.ts";

/** How long a stop waits for the requests under way, and then for those that waited for the broker. */
const ANSWER_TIMEOUT_MS = 15_000;
const LAST_ANSWERS_MS = 2_000;

/** Starts the management API: HTTP in front, PostgreSQL behind it, and the broker to ask dispatchers over. */
export async function startManagementApi(
  environment: Environment = process.env,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Service & { port: number }> {
  const config = readManagementApiConfig(environment);
  const log = createLog({ service: "management-api", level: config.LOG_LEVEL });
  const registry = createRegistry("management-api");
  const database = openDatabase(config.DATABASE_URL, {
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeoutMs: config.DATABASE_TIMEOUT_SECONDS * 1_000,
    applicationName: "herald-management-api",
    onConnectionLost: (error) => log.warn("a database connection broke", { error }),
  });
  const broker = connectBroker({
    url: config.AMQP_URL,
    namespace: config.BROKER_NAMESPACE,
    name: "herald-management-api",
    log,
  });
  const app = createApp({
    config,
    prisma: database.prisma,
    requestAttempt: attemptRequester(broker, { timeoutMs: config.MANUAL_DELIVERY_TIMEOUT_MS }),
    clock,
    log,
    registry,
  });
  const server = await startServer(app, { host: config.HTTP_HOST, port: config.PORT });
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.METRICS_PORT,
    registry,
    checks: { database: () => database.ping().then(() => true), broker: () => broker.isReady() },
  });
  log.info("listening", { port: server.port, operationsPort: operations.port, basePath: config.BASE_PATH });

  return {
    log,
    port: server.port,
    async stop() {
      const answered = server.close();
      // Whoever waits for a manual delivery's first attempt until then gets its state: a stop has 20 s in all.
      await Promise.race([answered, sleep(ANSWER_TIMEOUT_MS, undefined, { ref: false })]);
      await broker.close();
      await Promise.race([answered, sleep(LAST_ANSWERS_MS, undefined, { ref: false })]);
      server.end();
      await operations.close();
      await database.close();
    },
  };
}
