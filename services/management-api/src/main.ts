import { openDatabase } from "@herald/common/database";
import { runService, type Service, systemClock } from "@herald/common/runtime";
import { createLog, createRegistry, startOperationsServer } from "@herald/common/telemetry";
import { createApp } from "./app.ts";
import { readManagementApiConfig } from "./config.ts";
import { startServer } from "./http/server.ts";

const NAME = "management-api";

await runService(NAME, async (): Promise<Service> => {
  const config = readManagementApiConfig();
  const log = createLog({ service: NAME, level: config.LOG_LEVEL });
  const registry = createRegistry(NAME);
  const database = openDatabase(config.DATABASE_URL, {
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: `herald-${NAME}`,
    onConnectionLost: (error) => log.warn("a database connection broke", { error }),
  });
  const app = createApp({ config, prisma: database.prisma, clock: systemClock, log, registry });
  const server = await startServer(app, { host: config.HTTP_HOST, port: config.PORT });
  const operations = await startOperationsServer({
    host: config.HTTP_HOST,
    port: config.METRICS_PORT,
    registry,
    checks: { database: () => database.ping().then(() => true) },
  });
  log.info("listening", { port: server.port, basePath: config.BASE_PATH, operationsPort: operations.port });

  return {
    log,
    async stop() {
      await server.close();
      await operations.close();
      await database.close();
    },
  };
});
